package io.tensorflowignite.table;

import com.google.common.collect.Sets;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * The output of tasks in numbered chunks, until their job is in a final state. The chunks outlive
 * the task and its node; each may be lost with the nodes that store it. The first ones may have
 * been removed; then the task has a start. Starts and gaps are few and small, so they are with the
 * reports, which have a copy on every node.
 */
public final class LogTable {
  private static final int CHUNKS_PER_READ = 32;

  /** No chunk has these numbers: of the start, and, downwards, of the gaps. */
  private static final long START = -1;

  private static final long FIRST_GAP = -2;

  private final Rows rows;
  private final Rows replicated;
  private final IgniteCache<Object, Object> cache;

  public LogTable(Ignite ignite) {
    this.rows = new Rows(ignite, SystemCache.LOGS);
    this.replicated = new Rows(ignite, SystemCache.REPORTS);
    this.cache = rows.cache();
  }

  /**
   * Stores a chunk.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory for the purpose.
   */
  public void put(TaskKey task, LogChunk chunk, Purpose purpose) {
    rows.put(purpose, key(task, chunk.getSequence()), chunk.toByteArray(), "a task's output");
  }

  /**
   * The chunks, in order, of the 32 numbers from {@code sequence} on. A missing chunk before
   * another chunk is lost or removed. An unreadable chunk is a gap.
   */
  List<LogChunk> read(TaskKey task, long sequence) {
    Map<Object, Long> numbers = new LinkedHashMap<>();
    for (long number = sequence; number < sequence + CHUNKS_PER_READ; number++) {
      numbers.put(key(task, number), number);
    }
    Map<Object, Object> found = new HashMap<>(cache.getAll(numbers.keySet()));
    long last = found.keySet().stream().mapToLong(numbers::get).max().orElse(sequence - 1);
    numbers.values().removeIf(number -> number > last);
    if (found.size() < numbers.size()) {
      // Nodes answer one after the other: an earlier chunk may have been stored after a node's
      // answer.
      found.putAll(cache.getAll(Sets.difference(numbers.keySet(), Set.copyOf(found.keySet()))));
    }
    numbers.keySet().retainAll(found.keySet());
    return numbers.entrySet().stream()
        .map(chunk -> chunk(chunk.getValue(), found.get(chunk.getKey())))
        .collect(Collectors.toList());
  }

  private static LogChunk chunk(long number, Object value) {
    return Rows.read(LogChunk.parser(), value, chunk -> chunk.getSequence() == number)
        .orElseGet(() -> unreadable(number, value));
  }

  private static LogChunk unreadable(long number, Object value) {
    int bytes = value instanceof byte[] ? ((byte[]) value).length : 1;
    return LogChunk.newBuilder().setSequence(number).setDroppedBytes(bytes).build();
  }

  /** The key of the present process of a task. */
  public static TaskKey key(String jobId, int attempt, Task task) {
    return TaskKey.newBuilder()
        .setJobId(jobId)
        .setAttempt(attempt)
        .setRole(task.getRole())
        .setIndex(task.getIndex())
        .setIncarnation(task.getIncarnation())
        .build();
  }

  /** The keys of all processes of an attempt's tasks. */
  public static List<TaskKey> keys(String jobId, Attempt attempt) {
    List<TaskKey> keys = new ArrayList<>();
    for (Task task : attempt.getTasksList()) {
      if (task.getRole() == Role.UNRECOGNIZED) {
        // A role of a later version has no name here.
        continue;
      }
      TaskKey.Builder key = key(jobId, attempt.getNumber(), task).toBuilder();
      for (int incarnation = 0; incarnation <= task.getIncarnation(); incarnation++) {
        keys.add(key.setIncarnation(incarnation).build());
      }
    }
    return keys;
  }

  /** Bytes of the whole output of a process that has ended; 0: none, or not known. */
  public static long bytes(Attempt attempt, TaskKey key) {
    return attempt.getTasksList().stream()
        .filter(task -> task.getRole() == key.getRole() && task.getIndex() == key.getIndex())
        .filter(task -> task.getIncarnation() == key.getIncarnation())
        .mapToLong(task -> task.getStatus().getLogBytes())
        .sum();
  }

  /** The number of the first chunk that has not been removed. */
  long start(TaskKey task) {
    return message(task, START).map(LogChunk::getSequence).orElse(0L);
  }

  /** Removes the chunks from number first (inclusive) up to a new start (exclusive). */
  public void removeOldest(TaskKey task, long first, long start) {
    // The start is written before, so that a reader of a missing chunk knows the next position.
    byte[] row = LogChunk.newBuilder().setSequence(start).build().toByteArray();
    replicated.put(Purpose.DECISION, key(task, START), row, "the start of an output");
    Set<Object> keys = new TreeSet<>();
    for (long sequence = first; sequence < start; sequence++) {
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
    replicated.put(Purpose.DECISION, key(task, FIRST_GAP - number), gap.toByteArray(), "a gap");
  }

  /** A row that is no chunk of output; empty: there is none, or it is unreadable. */
  private Optional<LogChunk> message(TaskKey task, long number) {
    return Rows.read(LogChunk.parser(), replicated.get(key(task, number)), any -> true);
  }

  public void removeGaps(TaskKey task) {
    Set<Object> keys = new TreeSet<>();
    for (int number = gaps(task).size() - 1; number >= 0; number--) {
      keys.add(key(task, FIRST_GAP - number));
    }
    replicated.cache().removeAll(keys);
  }

  /** Removes the chunks of a task. */
  public void remove(TaskKey task) {
    long start = start(task);
    List<LogChunk> chunks = read(task, start);
    while (!chunks.isEmpty()) {
      Set<Object> keys = new LinkedHashSet<>();
      chunks.forEach(chunk -> keys.add(key(task, chunk.getSequence())));
      cache.removeAll(keys);
      chunks = read(task, chunks.get(chunks.size() - 1).getSequence() + 1);
    }
    replicated.cache().remove(key(task, START));
  }

  /**
   * Removes all output of a job whose tasks are not known; this reads the whole cache. Starts and
   * gaps are removed with the job's reports.
   */
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
