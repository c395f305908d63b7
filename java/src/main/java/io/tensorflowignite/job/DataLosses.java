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
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * Writes down which partitions have lost all their copies, in the rows of the jobs that read them.
 * Every node watches and writes, so that no single one need survive. A persistent cache only waits
 * for its nodes, and loses nothing.
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

  private final Ignite ignite;
  private final JobTable jobs;
  private final CopyWatch copies;
  private final LinkedBlockingQueue<Loss> noted = new LinkedBlockingQueue<>();

  public DataLosses(Ignite ignite, JobTable jobs) {
    this.ignite = ignite;
    this.jobs = jobs;
    this.copies = new CopyWatch(ignite);
  }

  /** Only notes it: Ignite's event threads must not wait for a transaction. */
  public void note(String cache, int partition) {
    noted.add(new Loss(cache, partition));
  }

  /** Looks for losses and writes down what was noted; what could not be written stays noted. */
  public void look() {
    Set<String> read =
        jobs.all().stream()
            .filter(job -> !JobMachine.isOver(job))
            .map(job -> job.getSpec().getCache())
            .filter(cache -> ignite.cacheNames().contains(cache))
            .filter(cache -> !Caches.isPersistent(ignite, cache))
            .collect(Collectors.toSet());
    copies.look(read, this::note);
    List<Loss> losses = new ArrayList<>(noted);
    if (!losses.isEmpty()) {
      write(losses.stream().filter(loss -> read.contains(loss.cache)).collect(Collectors.toList()));
      noted.removeAll(losses);
    }
  }

  private void write(List<Loss> losses) {
    Map<String, Set<Integer>> lost = new HashMap<>();
    for (Loss loss : losses) {
      lost.computeIfAbsent(loss.cache, cache -> new TreeSet<>()).add(loss.partition);
    }
    for (Job job : jobs.all()) {
      Set<Integer> partitions = lost.get(job.getSpec().getCache());
      if (partitions != null && !job.getLostPartitionsList().containsAll(partitions)) {
        jobs.update(job.getId(), row -> withLosses(row, partitions));
      }
    }
  }

  private static Job withLosses(Job job, Set<Integer> partitions) {
    Set<Integer> all = new TreeSet<>(job.getLostPartitionsList());
    all.addAll(partitions);
    return JobMachine.isOver(job)
        ? job
        : job.toBuilder().clearLostPartitions().addAllLostPartitions(all).build();
  }
}
