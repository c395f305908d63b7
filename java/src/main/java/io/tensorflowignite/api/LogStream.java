package io.tensorflowignite.api;

import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.job.JobFileStore;
import io.tensorflowignite.job.OutputNews;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.rpc.StreamCallThread;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.table.JobHistory;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogReader;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.StreamLogsResponse;
import io.tensorflowignite.v1.TaskKey;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * Sends the stored output of one job's tasks. If the request says follow, it also sends the output
 * that is stored later. While a job runs, its output is in chunks. Some time after its end the
 * output is in files; the job's row says so before the chunks are removed.
 */
final class LogStream {
  private static final long FOLLOW_MS = 100;

  /**
   * Each follower of the node makes the time between two reads of a follower longer by this, so
   * that all followers together make at most 100 reads in a second. Each read calls other nodes.
   */
  private static final long FOLLOWER_MS = 10;

  /** The time between two reads of all tasks: a notification of a task's output may be lost. */
  private static final long READ_ALL_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final JobTable jobs;
  private final JobTable.Reader rows;
  private final JobHistory history;
  private final LogTable logs;
  private final JobFileStore files;
  private final String jobId;
  private final StreamLogsRequest request;
  private final ServerCallStreamObserver<StreamLogsResponse> response;
  private final StreamCallThread flow;
  private final AtomicInteger followers;

  /** The reader of each process whose chunks have been sent. */
  private final Map<TaskKey, LogReader> readers = new HashMap<>();

  /**
   * The processes of ended attempts whose output has not been sent, with the size of the output in
   * bytes; 0: not known.
   */
  private final Map<TaskKey, Long> ended = new LinkedHashMap<>();

  /** The number of the newest attempt at the last round. */
  private int newestAttempt;

  /** The processes with news of more output. */
  private final Set<TaskKey> changed = ConcurrentHashMap.newKeySet();

  private long readAllAt;

  /** The number of bytes that were sent or dropped, for each process whose file has been sent. */
  private final Map<TaskKey, Long> sentFiles = new HashMap<>();

  /**
   * @param followers number of streams of this node that follow output
   */
  LogStream(
      JobTable jobs,
      JobHistory history,
      LogTable logs,
      JobFileStore files,
      String jobId,
      StreamLogsRequest request,
      ServerCallStreamObserver<StreamLogsResponse> response,
      StreamCallThread flow,
      AtomicInteger followers) {
    this.followers = followers;
    this.jobs = jobs;
    this.rows = jobs.reader(jobId);
    this.history = history;
    this.logs = logs;
    this.files = files;
    this.jobId = jobId;
    this.request = request;
    this.response = response;
    this.flow = flow;
  }

  void send(JobChangeBus changes, OutputNews news) throws IOException, InterruptedException {
    followers.incrementAndGet();
    try (JobChangeBus.Subscription subscription = changes.subscribe(jobId, flow::wake);
        OutputNews.Follower follower = news.follow(jobId, this::hasMore)) {
      follow(follower);
    } finally {
      followers.decrementAndGet();
    }
  }

  private void hasMore(TaskKey task) {
    changed.add(task);
    flow.wake();
  }

  private void follow(OutputNews.Follower follower) throws InterruptedException, IOException {
    long nextRead = System.nanoTime();
    while (!response.isCancelled()) {
      boolean due = System.nanoTime() - nextRead >= 0;
      // The row is read before the output, so that all output of a finished job is sent.
      Round round = flow.inTurn(() -> round(follower, due));
      // A change of the row wakes all followers, and concerns them only if it is the last one.
      if (round.last || (due && !round.left.isEmpty())) {
        while (!flow.inTurn(() -> sendStored(round))) {
          if (!flow.awaitReady()) {
            return;
          }
        }
        long pauseMs = Math.max(FOLLOW_MS, FOLLOWER_MS * followers.get());
        nextRead = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs);
      }
      if (round.last && !movedSince(round)) {
        response.onCompleted();
        return;
      }
      long rest = TimeUnit.NANOSECONDS.toMillis(nextRead - System.nanoTime());
      if (changed.isEmpty()) {
        flow.awaitChange();
      } else if (rest >= 0) {
        flow.awaitChange(1 + rest);
      }
    }
  }

  /** What one pass over the output needs of the job's row, which may have a megabyte. */
  private static final class Round {
    final boolean last;
    final boolean stored;

    /** The processes that are left in this pass, with the bytes of their whole output; 0: open. */
    final Map<TaskKey, Long> left = new LinkedHashMap<>();

    /** The output was moved into files in this pass: missing chunks are no gaps. */
    boolean moved;

    Round(boolean last, boolean stored) {
      this.last = last;
      this.stored = stored;
    }
  }

  /**
   * @param due whether output may be read now
   */
  private Round round(OutputNews.Follower follower, boolean due) {
    Job job = rows.read().or(() -> jobs.get(jobId)).orElse(Job.getDefaultInstance());
    boolean last = !request.getFollow() || job.hasFinishedAt() || !mayGoOn(job);
    Round round = new Round(last, job.getLogsStored());
    if (job.getAttemptsCount() > 0) {
      Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
      addEnded(job);
      boolean everything = last || System.nanoTime() - readAllAt > READ_ALL_NANOS;
      round.left.putAll(ended);
      if ((due || last) && (everything || !changed.isEmpty())) {
        Set<TaskKey> more = Set.copyOf(changed);
        changed.removeAll(more);
        readAllAt = everything ? System.nanoTime() : readAllAt;
        requested(newest).stream()
            .filter(task -> everything || more.contains(task))
            .forEach(task -> round.left.put(task, bytes(newest, task, last)));
      }
      if (!last) {
        follower.renew(newest);
      }
    }
    return round;
  }

  private static long bytes(Attempt attempt, TaskKey task, boolean ended) {
    return ended ? LogTable.bytes(attempt, task) : 0;
  }

  /** Adds the processes of attempts that have ended since the last round: they are complete. */
  private void addEnded(Job job) {
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    if (newest.getNumber() == newestAttempt) {
      return;
    }
    for (Attempt attempt : history.since(job, Math.max(1, newestAttempt))) {
      requested(attempt).forEach(task -> ended.put(task, LogTable.bytes(attempt, task)));
    }
    newestAttempt = newest.getNumber();
    readAllAt = System.nanoTime() - READ_ALL_NANOS - 1;
  }

  private List<TaskKey> requested(Attempt attempt) {
    return LogTable.keys(jobId, attempt).stream()
        .filter(this::isRequested)
        .collect(Collectors.toList());
  }

  /** A job that was removed, or whose row has become unreadable, has no more output. */
  private static boolean mayGoOn(Job job) {
    return !job.getId().isEmpty() && job.getState() != JobState.JOB_STATE_UNREADABLE;
  }

  /** Whether the output was moved into files, so that chunks may have been missed. */
  private boolean movedSince(Round previous) {
    return !previous.stored && jobs.get(jobId).filter(Job::getLogsStored).isPresent();
  }

  /**
   * False: the receiver is not ready for the rest, or has cancelled, or others wait for their turn.
   * Nothing is kept of the rest. If the output was moved meanwhile, the next pass sends the rest.
   */
  private boolean sendStored(Round round) throws InterruptedException, IOException {
    Iterator<Map.Entry<TaskKey, Long>> left = round.left.entrySet().iterator();
    while (left.hasNext()) {
      Map.Entry<TaskKey, Long> task = left.next();
      boolean sent =
          round.stored
              ? sendFile(task.getKey())
              : sendChunks(round, task.getKey(), task.getValue());
      if (!sent) {
        return round.moved;
      }
      ended.remove(task.getKey());
      left.remove();
    }
    return true;
  }

  /**
   * @param all bytes of the whole output; 0: not known, or more may come
   */
  private boolean sendChunks(Round round, TaskKey task, long all) throws InterruptedException {
    LogReader reader = readers.computeIfAbsent(task, key -> new LogReader(logs, key));
    List<LogChunk> chunks;
    do {
      chunks = reader.next();
      for (int sent = 0; sent < chunks.size(); sent++) {
        if (!send(round, task, chunks.get(sent))) {
          reader.takeBack(chunks.subList(sent, chunks.size()));
          return false;
        }
      }
    } while (!chunks.isEmpty());
    Optional<LogChunk> end = reader.missingEnd(all);
    if (end.isPresent() && !send(round, task, end.get())) {
      reader.takeBackEnd(end.get());
      return false;
    }
    return true;
  }

  /** A chunk is missing if its node is lost, or if the output was moved since the row was read. */
  private boolean send(Round round, TaskKey task, LogChunk chunk) throws InterruptedException {
    round.moved = chunk.getDroppedBytes() > 0 && movedSince(round);
    return !round.moved && send(task, chunk);
  }

  /** Sends the rest of a task's file; a task without output has no file. */
  private boolean sendFile(TaskKey task) throws InterruptedException, IOException {
    String path = JobPaths.log(task);
    if (!files.exists(path)) {
      return true;
    }
    LogReader reader = readers.get(task);
    long position = sentFiles.getOrDefault(task, reader == null ? 0 : reader.position());
    try (StorageInput file = files.read(path)) {
      StoredLog log = new StoredLog(file, logs.gaps(task), position);
      for (LogChunk piece = log.next(); piece != null; piece = log.next()) {
        if (!send(task, piece)) {
          sentFiles.put(task, position);
          return false;
        }
        position += piece.getDroppedBytes() + piece.getData().size();
      }
    }
    sentFiles.put(task, position);
    return true;
  }

  private boolean send(TaskKey task, LogChunk chunk) throws InterruptedException {
    if (!flow.isReadyAtOnce()) {
      return false;
    }
    response.onNext(
        StreamLogsResponse.newBuilder()
            .setAttempt(task.getAttempt())
            .setRole(task.getRole())
            .setIndex(task.getIndex())
            .setIncarnation(task.getIncarnation())
            .setData(chunk.getData())
            .setDroppedBytes(chunk.getDroppedBytes())
            .build());
    return true;
  }

  private boolean isRequested(TaskKey task) {
    return (request.getAttempt() == 0 || request.getAttempt() == task.getAttempt())
        && (request.getRole() == Role.ROLE_UNSPECIFIED || request.getRole() == task.getRole())
        && (!request.hasIndex() || request.getIndex() == task.getIndex());
  }
}
