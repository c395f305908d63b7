package io.tensorflowignite.api;

import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.job.JobFileStore;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.rpc.StreamCallThread;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogReader;
import io.tensorflowignite.table.LogTable;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Sends the stored output of one job's tasks, and if the request says follow, the output that is
 * stored from then on. While a job runs, its output is in chunks; some time after its end it is in
 * files, and the job's row says so before the chunks are removed.
 */
final class LogStream {
  private static final long FOLLOW_MS = 100;

  /**
   * The time between two reads of one follower grows by this with each follower of the node, so
   * that followers together make at most 100 reads in a second. Each read asks other nodes.
   */
  private static final long FOLLOWER_MS = 10;

  private final JobTable jobs;
  private final LogTable logs;
  private final JobFileStore files;
  private final JobChangeBus changes;
  private final String jobId;
  private final StreamLogsRequest request;
  private final ServerCallStreamObserver<StreamLogsResponse> response;
  private final StreamCallThread flow;
  private final AtomicInteger followers;

  /** Of each process whose chunks have been sent. */
  private final Map<TaskKey, LogReader> readers = new HashMap<>();

  /** Of each process whose file has been sent: the bytes that were sent or dropped. */
  private final Map<TaskKey, Long> sentFiles = new HashMap<>();

  /**
   * @param followers number of streams of this node that follow output
   */
  LogStream(
      JobTable jobs,
      LogTable logs,
      JobFileStore files,
      JobChangeBus changes,
      String jobId,
      StreamLogsRequest request,
      ServerCallStreamObserver<StreamLogsResponse> response,
      StreamCallThread flow,
      AtomicInteger followers) {
    this.followers = followers;
    this.jobs = jobs;
    this.logs = logs;
    this.files = files;
    this.changes = changes;
    this.jobId = jobId;
    this.request = request;
    this.response = response;
    this.flow = flow;
  }

  void send() throws IOException, InterruptedException {
    followers.incrementAndGet();
    try (JobChangeBus.Subscription subscription = changes.subscribe(jobId, flow::wake)) {
      follow();
    } finally {
      followers.decrementAndGet();
    }
  }

  private void follow() throws InterruptedException, IOException {
    long nextRead = System.nanoTime();
    while (!response.isCancelled()) {
      // The row is read before the output, so that all output of a finished job is sent.
      Round round = flow.inTurn(this::round);
      // A change of the row wakes all followers, and concerns them only if it is the last one.
      if (round.last || System.nanoTime() - nextRead >= 0) {
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
      flow.awaitChange(
          1 + Math.max(0, TimeUnit.NANOSECONDS.toMillis(nextRead - System.nanoTime())));
    }
  }

  /** What one pass over the output needs of the job's row, which may have a megabyte. */
  private static final class Round {
    final boolean last;
    final boolean stored;

    /** The processes that are left in this pass, with the bytes of their whole output; 0: open. */
    final Map<TaskKey, Long> left = new LinkedHashMap<>();

    Round(boolean last, boolean stored) {
      this.last = last;
      this.stored = stored;
    }
  }

  private Round round() {
    Job job = jobs.get(jobId).orElse(Job.getDefaultInstance());
    boolean last = !request.getFollow() || job.hasFinishedAt() || !mayGoOn(job);
    Round round = new Round(last, job.getLogsStored());
    LogTable.keys(job).stream()
        .filter(this::isRequested)
        .forEach(task -> round.left.put(task, last ? LogTable.bytes(job, task) : 0));
    return round;
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
   * Nothing is kept of the rest.
   */
  private boolean sendStored(Round round) throws InterruptedException, IOException {
    Iterator<Map.Entry<TaskKey, Long>> left = round.left.entrySet().iterator();
    while (left.hasNext()) {
      Map.Entry<TaskKey, Long> task = left.next();
      boolean sent =
          round.stored ? sendFile(task.getKey()) : sendChunks(task.getKey(), task.getValue());
      if (!sent) {
        return false;
      }
      left.remove();
    }
    return true;
  }

  /**
   * @param all bytes of the whole output; 0: not known, or more may come
   */
  private boolean sendChunks(TaskKey task, long all) throws InterruptedException {
    LogReader reader = readers.computeIfAbsent(task, key -> new LogReader(logs, key));
    List<LogChunk> chunks;
    do {
      chunks = reader.next();
      for (int sent = 0; sent < chunks.size(); sent++) {
        if (!send(task, chunks.get(sent))) {
          reader.takeBack(chunks.subList(sent, chunks.size()));
          return false;
        }
      }
    } while (!chunks.isEmpty());
    Optional<LogChunk> end = reader.missingEnd(all);
    if (end.isPresent() && !send(task, end.get())) {
      reader.takeBackEnd(end.get());
      return false;
    }
    return true;
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
