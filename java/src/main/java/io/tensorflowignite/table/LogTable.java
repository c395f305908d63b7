package io.tensorflowignite.table;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/**
 * The output of tasks, in numbered chunks, until their job is over; it outlives the task and its
 * node.
 */
public final class LogTable {
  private static final int CHUNKS_PER_READ = 32;

  /** No chunk has this number. */
  private static final long GAP = -1;

  private final IgniteCache<String, byte[]> cache;

  public LogTable(Ignite ignite) {
    this.cache = SystemCache.LOGS.open(ignite);
  }

  public void put(TaskKey task, LogChunk chunk) {
    cache.put(key(task, chunk.getSequence()), chunk.toByteArray());
  }

  /**
   * The chunks from number `sequence` on, in order, up to the first one that is not there; at most
   * 32.
   */
  public List<LogChunk> read(TaskKey task, long sequence) {
    Set<String> keys = new LinkedHashSet<>();
    for (int i = 0; i < CHUNKS_PER_READ; i++) {
      keys.add(key(task, sequence + i));
    }
    Map<String, byte[]> found = cache.getAll(keys);
    List<LogChunk> chunks = new ArrayList<>();
    for (String key : keys) {
      LogChunk chunk = parse(found.get(key));
      if (chunk == null) {
        break;
      }
      chunks.add(chunk);
    }
    return chunks;
  }

  /** Every process that a job's tasks have been, in the order of attempts. */
  public static List<TaskKey> keys(Job job) {
    List<TaskKey> keys = new ArrayList<>();
    for (Attempt attempt : job.getAttemptsList()) {
      for (Task task : attempt.getTasksList()) {
        TaskKey.Builder key =
            TaskKey.newBuilder()
                .setJobId(job.getId())
                .setAttempt(attempt.getNumber())
                .setRole(task.getRole())
                .setIndex(task.getIndex());
        for (int incarnation = 0; incarnation <= task.getIncarnation(); incarnation++) {
          keys.add(key.setIncarnation(incarnation).build());
        }
      }
    }
    return keys;
  }

  /**
   * Where output was dropped, for output whose chunks are gone: the number of bytes before that
   * place as its sequence, and how many were dropped. Null: nowhere.
   */
  public LogChunk gap(TaskKey task) {
    return parse(cache.get(key(task, GAP)));
  }

  public void putGap(TaskKey task, long position, long droppedBytes) {
    LogChunk gap =
        LogChunk.newBuilder().setSequence(position).setDroppedBytes(droppedBytes).build();
    cache.put(key(task, GAP), gap.toByteArray());
  }

  public void removeGap(TaskKey task) {
    cache.remove(key(task, GAP));
  }

  /** Removes the chunks of a task. */
  public void remove(TaskKey task) {
    long sequence = 0;
    for (int count = read(task, 0).size(); count > 0; count = read(task, sequence).size()) {
      Set<String> keys = new LinkedHashSet<>();
      for (int i = 0; i < count; i++) {
        keys.add(key(task, sequence++));
      }
      cache.removeAll(keys);
    }
  }

  private static String key(TaskKey task, long sequence) {
    return String.join(
        "/",
        task.getJobId(),
        Integer.toString(task.getAttempt()),
        task.getRole().name(),
        Integer.toString(task.getIndex()),
        Integer.toString(task.getIncarnation()),
        Long.toString(sequence));
  }

  private static LogChunk parse(byte[] bytes) {
    return Messages.parse(LogChunk.parser(), bytes, SystemCache.LOGS);
  }
}
