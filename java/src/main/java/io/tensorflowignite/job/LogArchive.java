package io.tensorflowignite.job;

import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.TaskKey;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * Makes files of the output of jobs that are over. While a job runs its output comes in small
 * pieces, many times a second from every task: each is one put to the two nodes that keep it, where
 * a change of a file is a transaction on all nodes. Whoever is interrupted here is followed by
 * another, who begins anew: the chunks go only when every file is there and the job's row says so.
 */
public final class LogArchive implements AutoCloseable {
  private static final long CLOSE_TIMEOUT_S = 10;
  private static final long PAUSE_AFTER_FAILURE_MS = 30_000;

  private final IgniteLogger log;
  private final JobTable jobs;
  private final LogTable logs;
  private final JobStore files;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(task -> new Thread(task, "tensorflow-ignite-log-archive"));
  private Future<?> underWay;
  private volatile long notBeforeNs = System.nanoTime();

  public LogArchive(Ignite ignite, JobTable jobs, JobStore files) {
    this.log = ignite.log().getLogger(LogArchive.class);
    this.jobs = jobs;
    this.logs = new LogTable(ignite);
    this.files = files;
  }

  /** Sees to the jobs whose output is still in chunks; does not wait. For one thread. */
  void look(Collection<Job> all) {
    if ((underWay != null && !underWay.isDone()) || System.nanoTime() - notBeforeNs < 0) {
      return;
    }
    all.stream()
        .filter(job -> JobMachine.isOver(job) && !job.getLogsStored())
        .findFirst()
        .ifPresent(job -> underWay = thread.submit(() -> store(job)));
  }

  @Override
  public void close() throws InterruptedException {
    thread.shutdownNow();
    thread.awaitTermination(CLOSE_TIMEOUT_S, TimeUnit.SECONDS);
  }

  private void store(Job job) {
    try {
      List<TaskKey> tasks = LogTable.keys(job);
      for (TaskKey task : tasks) {
        store(task);
      }
      boolean known =
          jobs.update(job.getId(), row -> row.toBuilder().setLogsStored(true).build()).isPresent();
      tasks.forEach(logs::remove);
      if (!known) {
        // It was removed meanwhile.
        tasks.forEach(logs::removeGap);
        files.remove(JobFiles.directory(job.getId()));
      }
    } catch (IOException | RuntimeException e) {
      notBeforeNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PAUSE_AFTER_FAILURE_MS);
      log.warning(
          "The output of a job could not be put into files and stays where it is; this will be"
              + " tried again [job="
              + job.getId()
              + "]",
          e);
    }
  }

  private void store(TaskKey task) throws IOException {
    List<LogChunk> chunks = logs.read(task, 0);
    if (chunks.isEmpty()) {
      return;
    }
    long bytes = 0;
    StorageOutput file = files.write(JobFiles.log(task));
    try {
      for (long next = 0; !chunks.isEmpty(); chunks = logs.read(task, next)) {
        for (LogChunk chunk : chunks) {
          if (chunk.getDroppedBytes() > 0) {
            logs.putGap(task, bytes, chunk.getDroppedBytes());
          }
          chunk.getData().writeTo(file);
          bytes += chunk.getData().size();
          next++;
        }
      }
      file.close();
    } finally {
      // What was closed stays.
      file.abandon();
    }
  }
}
