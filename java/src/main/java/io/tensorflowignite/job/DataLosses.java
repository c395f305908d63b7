package io.tensorflowignite.job;

import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Ignite loses the rows of partitions that have lost all their copies, and says so only in an
 * event. Every node notes the event and writes it into the rows of the jobs that read the cache, so
 * that no single node need survive it.
 */
public final class DataLosses {
  private static final class Loss {
    final String cache;
    final int partition;

    Loss(String cache, int partition) {
      this.cache = cache;
      this.partition = partition;
    }
  }

  private final JobTable jobs;
  private final LinkedBlockingQueue<Loss> noted = new LinkedBlockingQueue<>();

  public DataLosses(JobTable jobs) {
    this.jobs = jobs;
  }

  /** Only notes it: Ignite's event threads must not wait for a transaction. */
  public void note(String cache, int partition) {
    noted.add(new Loss(cache, partition));
  }

  /** Writes down what was noted; what could not be written stays noted. */
  public void writeDown() {
    List<Loss> losses = new ArrayList<>(noted);
    if (losses.isEmpty()) {
      return;
    }
    Map<String, Set<Integer>> lost = new HashMap<>();
    for (Loss loss : losses) {
      lost.computeIfAbsent(loss.cache, cache -> new TreeSet<>()).add(loss.partition);
    }
    for (Job job : jobs.all()) {
      Set<Integer> partitions = lost.get(job.getSpec().getCache());
      if (partitions != null && !JobMachine.isOver(job)) {
        jobs.update(job.getId(), row -> withLosses(row, partitions));
      }
    }
    noted.removeAll(losses);
  }

  private static Job withLosses(Job job, Set<Integer> partitions) {
    Set<Integer> all = new TreeSet<>(job.getLostPartitionsList());
    all.addAll(partitions);
    return JobMachine.isOver(job)
        ? job
        : job.toBuilder().clearLostPartitions().addAllLostPartitions(all).build();
  }
}
