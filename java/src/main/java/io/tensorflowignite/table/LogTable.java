package io.tensorflowignite.table;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * The output of tasks in numbered chunks, until their job is in a final state. The chunks outlive
 * the task and its node. The first ones may have been removed; then the task has a start.
 */
public final class LogTable {
  private static final int CHUNKS_PER_READ = 32;

  /** No chunk has these numbers: of the start, and, downwards, of the gaps. */
  private static final long START = -1;

  private static final long FIRST_GAP = -2;

  private final Rows rows;
  private final IgniteCache<Object, Object> cache;

  public LogTable(Ignite ignite) {
    this.rows = new Rows(ignite, SystemCache.LOGS);
    this.cache = rows.cache();
  }

  /**
   * Stores a chunk.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory. A chunk without
   *     data, which reports a gap only, may use the reserve.
   */
  public void put(TaskKey task, LogChunk chunk) {
    Purpose purpose = chunk.getData().isEmpty() ? Purpose.DECISION : Purpose.DATA;
    rows.put(purpose, key(task, chunk.getSequence()), chunk.toByteArray(), "a task's output");
  }

  /**
   * At most 32 chunks in order, from the chunk with number `sequence` up to the first missing
   * chunk. An unreadable chunk is a gap.
   */
  List<LogChunk> read(TaskKey task, long sequence) {
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < CHUNKS_PER_READ; i++) {
      keys.add(key(task, sequence + i));
    }
    Map<Object, Object> found = cache.getAll(new LinkedHashSet<Object>(keys));
    List<LogChunk> chunks = new ArrayList<>();
    for (String key : keys) {
      Object value = found.get(key);
      if (value == null) {
        break;
      }
      long number = sequence + chunks.size();
      chunks.add(
          Rows.read(LogChunk.parser(), value, chunk -> chunk.getSequence() == number)
              .orElseGet(() -> unreadable(number, value)));
    }
    return chunks;
  }

  private static LogChunk unreadable(long number, Object value) {
    int bytes = value instanceof byte[] ? ((byte[]) value).length : 1;
    return LogChunk.newBuilder().setSequence(number).setDroppedBytes(bytes).build();
  }

  /** The keys of all processes of a job's tasks, in the order of attempts. */
  public static List<TaskKey> keys(Job job) {
    List<TaskKey> keys = new ArrayList<>();
    for (Attempt attempt : job.getAttemptsList()) {
      for (Task task : attempt.getTasksList()) {
        if (task.getRole() == Role.UNRECOGNIZED) {
          // A role of a later version has no name here.
          continue;
        }
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
   * The first chunk that is left: its `sequence`, and as `droppedBytes` the bytes of all output
   * before it. The default: no chunk has been removed.
   */
  LogChunk start(TaskKey task) {
    return message(task, START).orElseGet(LogChunk::getDefaultInstance);
  }

  /** Removes the chunks from number first (inclusive) up to a new start (exclusive). */
  public void removeOldest(TaskKey task, long first, LogChunk start) {
    // The start is written before, so that a reader of a missing chunk knows where to go on.
    rows.put(Purpose.DECISION, key(task, START), start.toByteArray(), "the start of an output");
    Set<Object> keys = new TreeSet<>();
    for (long sequence = first; sequence < start.getSequence(); sequence++) {
      keys.add(key(task, sequence));
    }
    cache.removeAll(keys);
  }

  /**
   * The gaps in output whose chunks have been removed: the `sequence` of each is the number of
   * stored bytes before the gap, and `droppedBytes` the size of the gap.
   */
  public List<LogChunk> gaps(TaskKey task) {
    List<LogChunk> gaps = new ArrayList<>();
    Optional<LogChunk> gap = message(task, FIRST_GAP);
    while (gap.isPresent()) {
      gaps.add(gap.get());
      gap = message(task, FIRST_GAP - gaps.size());
    }
    return gaps;
  }

  public void putGap(TaskKey task, int number, long position, long droppedBytes) {
    LogChunk gap =
        LogChunk.newBuilder().setSequence(position).setDroppedBytes(droppedBytes).build();
    rows.put(Purpose.DECISION, key(task, FIRST_GAP - number), gap.toByteArray(), "a gap");
  }

  /** A row that is no chunk of output; empty: there is none, or it is unreadable. */
  private Optional<LogChunk> message(TaskKey task, long number) {
    return Rows.read(LogChunk.parser(), rows.get(key(task, number)), any -> true);
  }

  public void removeGaps(TaskKey task) {
    Set<Object> keys = new TreeSet<>();
    for (int number = gaps(task).size() - 1; number >= 0; number--) {
      keys.add(key(task, FIRST_GAP - number));
    }
    cache.removeAll(keys);
  }

  /** Removes the chunks of a task. */
  public void remove(TaskKey task) {
    long sequence = start(task).getSequence();
    for (int count = read(task, sequence).size(); count > 0; count = read(task, sequence).size()) {
      Set<Object> keys = new LinkedHashSet<>();
      for (int i = 0; i < count; i++) {
        keys.add(key(task, sequence++));
      }
      cache.removeAll(keys);
    }
    cache.remove(key(task, START));
  }

  /** Removes all output of a job whose tasks are not known; reads the whole cache for that. */
  public void removeAll(String jobId) {
    try (QueryCursor<Cache.Entry<Object, Object>> entries = cache.query(new ScanQuery<>())) {
      for (Cache.Entry<Object, Object> entry : entries) {
        if (Rows.text(entry.getKey()).startsWith(jobId + "/")) {
          cache.remove(entry.getKey());
        }
      }
    }
  }

  private static String key(TaskKey task, long sequence) {
    return String.join(
        "/",
        task.getJobId(),
        Integer.toString(task.getAttempt()),
        MessageText.name(task.getRole()),
        Integer.toString(task.getIndex()),
        Integer.toString(task.getIncarnation()),
        Long.toString(sequence));
  }
}
