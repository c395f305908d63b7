package io.tensorflowignite.job;

import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.table.JobHistory;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogReader;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.TaskKey;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * Writes the output of finished jobs into files. While a job runs, every task sends small chunks
 * many times a second: a chunk is one put to two nodes, while a change of a file is a transaction
 * on all nodes. Then the job is moved to the history. If this is interrupted, another node starts
 * again: the chunks are removed only when every file exists and the job is in the history.
 */
public final class LogArchive implements AutoCloseable {
  private static final long CLOSE_TIMEOUT_S = 10;
  private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(30);
  private static final Duration PASS_LIMIT = Duration.ofMinutes(10);

  private final JobTable jobs;
  private final JobHistory history;
  private final LogTable logs;
  private final JobFileStore files;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(task -> new Thread(task, "tensorflow-ignite-log-archive"));
  private Future<?> pending;
  private final Loop loop;

  /** The jobs whose output could not be stored; no new attempt to store it before this moment. */
  private final Map<String, Long> failedAt = new ConcurrentHashMap<>();

  public LogArchive(Ignite ignite, JobTable jobs, JobFileStore files) {
    this.loop = Loops.of(ignite).onRequest("output of jobs", PASS_LIMIT, thread::isShutdown);
    this.jobs = jobs;
    this.history = new JobHistory(ignite);
    this.logs = new LogTable(ignite);
    this.files = files;
  }

  /**
   * Starts to store the output of all finished jobs, if none is being stored. For one thread. A job
   * that is over stays in the table until then, so that a rest must not wait for the next call.
   */
  void poll(Collection<Job> all) {
    if (!isIdle()) {
      return;
    }
    long now = System.nanoTime();
    failedAt.values().removeIf(moment -> now - moment >= PAUSE_AFTER_FAILURE.toNanos());
    List<Job> due =
        all.stream()
            .filter(job -> JobMachine.isFinal(job) && KnownValues.areAll(job))
            .filter(job -> !failedAt.containsKey(job.getId()))
            .collect(Collectors.toList());
    if (!due.isEmpty()) {
      pending = thread.submit(() -> poll(due));
    }
  }

  /** Whether no output is being stored. */
  boolean isIdle() {
    return pending == null || pending.isDone();
  }

  private void poll(List<Job> due) {
    due.stream().takeWhile(job -> !thread.isShutdown()).forEach(this::poll);
  }

  /** After a failure the output stays in the cache, and other jobs come first. */
  private void poll(Job job) {
    boolean stored = loop.pass(() -> loop.part("output of job " + job.getId(), () -> store(job)));
    if (!stored) {
      failedAt.put(job.getId(), System.nanoTime());
    }
  }

  @Override
  public void close() throws InterruptedException {
    thread.shutdownNow();
    thread.awaitTermination(CLOSE_TIMEOUT_S, TimeUnit.SECONDS);
  }

  private void store(Job listed) throws IOException {
    // The list may be older than the end of the last pass, on this node or another one.
    Job job = jobs.row(listed.getId()).orElse(null);
    if (job == null) {
      return;
    }
    List<TaskKey> tasks = new ArrayList<>();
    for (Attempt attempt : history.attempts(job)) {
      for (TaskKey task : LogTable.keys(job.getId(), attempt)) {
        if (!job.getLogsStored() && !store(task, LogTable.bytes(attempt, task))) {
          return;
        }
        tasks.add(task);
      }
    }
    boolean exists = jobs.finish(job.getId(), row -> row.toBuilder().setLogsStored(true).build());
    tasks.forEach(logs::remove);
    if (!exists && jobs.get(job.getId()).isEmpty()) {
      // The job was removed meanwhile.
      tasks.forEach(logs::removeGaps);
      files.remove(JobPaths.directory(job.getId()));
    }
  }

  /**
   * Stores the output of a task; false: the job was moved meanwhile, with the whole output, and the
   * chunks are being removed.
   *
   * @param all bytes of the whole output; 0: not known
   */
  private boolean store(TaskKey task, long all) throws IOException {
    LogReader reader = new LogReader(logs, task);
    List<LogChunk> chunks = reader.next();
    if (chunks.isEmpty() && all == 0) {
      return true;
    }
    long bytes = 0;
    Map<Long, Long> gaps = new LinkedHashMap<>();
    StorageOutput file = files.write(JobPaths.log(task));
    try {
      for (; !chunks.isEmpty(); chunks = reader.next()) {
        for (LogChunk chunk : chunks) {
          gaps.merge(bytes, chunk.getDroppedBytes(), Long::sum);
          chunk.getData().writeTo(file);
          bytes += chunk.getData().size();
        }
      }
      gaps.merge(
          bytes, reader.missingEnd(all).map(LogChunk::getDroppedBytes).orElse(0L), Long::sum);
      gaps.values().removeIf(dropped -> dropped == 0);
      if (!gaps.isEmpty() && jobs.row(task.getJobId()).isEmpty()) {
        return false;
      }
      int number = 0;
      for (Map.Entry<Long, Long> gap : gaps.entrySet()) {
        logs.putGap(task, number++, gap.getKey(), gap.getValue());
      }
      file.close();
      return true;
    } finally {
      // This does nothing after close().
      file.abandon();
    }
  }
}
