package io.tensorflowignite.agent;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import org.apache.ignite.IgniteLogger;

/**
 * Stores the output of this node's tasks. Each node of a job's attempt may store an equal part of
 * the job's limit, over all attempts and processes that it has run; beyond it, the oldest chunks
 * are removed, and also where the cluster has no memory for a new chunk: the newest output is what
 * its reader needs. If there is no older output, the new one is dropped, and the next chunk says
 * so.
 */
final class OutputStore {
  /** Of a chunk besides its data, so that many small chunks count too. */
  private static final int CHUNK_BYTES = 256;

  /** When the part is full, this fraction of it is removed, so that starts are written rarely. */
  private static final int REMOVED_DIVISOR = 16;

  private final LogTable logs;
  private final IgniteLogger log;
  private final long jobLimit;
  private final ToIntFunction<TaskKey> nodes;
  private final Consumer<TaskKey> stored;
  private final Map<String, Part> parts = new ConcurrentHashMap<>();

  /** This node's part of one job's output. */
  private static final class Part {
    final Map<TaskKey, Process> processes = new HashMap<>();
    final Deque<Stored> stored = new ArrayDeque<>();
    int attempt;
    long limit;
    long bytes;

    /** Bytes that were removed because memory is full: as many may be stored in their place. */
    long replaceable;
  }

  private static final class Process {
    /** Number of the agent's next chunk; earlier ones are sent again. */
    long expected;

    /** Number of the next chunk in the table. */
    long next;

    /** Number of the first chunk that is left. */
    long first;

    /** Bytes of output so far. */
    long position;

    /** Of these, the last ones that were not stored. */
    long dropped;

    /**
     * @param first number of the first chunk: above 0 if the job was finished and forgotten before
     */
    Process(long first) {
      this.expected = first;
      this.next = first;
      this.first = first;
    }
  }

  private static final class Stored {
    final TaskKey task;
    final long sequence;
    final long cost;

    Stored(TaskKey task, long sequence, long cost) {
      this.task = task;
      this.sequence = sequence;
      this.cost = cost;
    }
  }

  /**
   * @param jobLimit bytes for the output of one job on all nodes
   * @param nodes number of nodes with tasks of an attempt
   * @param stored gets each process of which a chunk was stored
   */
  OutputStore(
      LogTable logs,
      IgniteLogger log,
      long jobLimit,
      ToIntFunction<TaskKey> nodes,
      Consumer<TaskKey> stored) {
    this.logs = logs;
    this.log = log;
    this.jobLimit = jobLimit;
    this.nodes = nodes;
    this.stored = stored;
  }

  /** Stores a chunk of the agent. If this throws, the agent sends the chunk again. */
  synchronized void add(TaskKey task, LogChunk chunk) {
    Part part = part(task);
    Process process = part.processes.computeIfAbsent(task, key -> new Process(chunk.getSequence()));
    if (chunk.getSequence() < process.expected) {
      return;
    }
    long dropped = process.dropped + chunk.getDroppedBytes();
    boolean stored = put(part, task, process, chunk.toBuilder().setDroppedBytes(dropped).build());
    process.expected = chunk.getSequence() + 1;
    process.position += chunk.getDroppedBytes() + chunk.getData().size();
    process.dropped = stored ? 0 : dropped + chunk.getData().size();
  }

  /** The process has ended: reports the gap at the end of its output, if there is one. */
  synchronized void end(TaskKey task) {
    Part part = parts.get(task.getJobId());
    Process process = part == null ? null : part.processes.get(task);
    if (process != null && process.dropped > 0) {
      LogChunk gap = LogChunk.newBuilder().setDroppedBytes(process.dropped).build();
      if (put(part, task, process, gap)) {
        process.dropped = 0;
      }
    }
  }

  /** Forgets the jobs that have no tasks here any more. */
  void retain(Predicate<String> hasTasks) {
    parts.keySet().removeIf(hasTasks.negate());
  }

  private Part part(TaskKey task) {
    Part part = parts.computeIfAbsent(task.getJobId(), id -> new Part());
    if (part.attempt != task.getAttempt()) {
      part.limit = jobLimit / Math.max(1, nodes.applyAsInt(task));
      part.attempt = task.getAttempt();
    }
    return part;
  }

  /** Returns false if the cluster has no memory for the chunk. */
  private boolean put(Part part, TaskKey task, Process process, LogChunk chunk) {
    LogChunk numbered =
        chunk.toBuilder()
            .setSequence(process.next)
            .setPosition(process.position - process.dropped + chunk.getDroppedBytes())
            .build();
    long cost = CHUNK_BYTES + chunk.getData().size();
    if (!put(part, task, numbered, cost)) {
      return false;
    }
    part.stored.add(new Stored(task, process.next, cost));
    process.next++;
    part.bytes += cost;
    if (part.bytes > part.limit) {
      removeOldest(part, part.limit - part.limit / REMOVED_DIVISOR);
    }
    return true;
  }

  /** Returns false if the cluster has no memory for the chunk. */
  private boolean put(Part part, TaskKey task, LogChunk chunk, long cost) {
    try {
      logs.put(task, chunk, chunk.getData().isEmpty() ? Purpose.DECISION : Purpose.DATA);
      stored.accept(task);
      return true;
    } catch (TensorFlowIgniteException e) {
      requireFull(e);
    }
    if (part.replaceable < cost) {
      long before = part.bytes;
      removeOldest(part, before - before / REMOVED_DIVISOR - cost);
      part.replaceable += before - part.bytes;
    }
    if (part.replaceable < cost) {
      return false;
    }
    try {
      // It may use the reserve, since as much was removed before.
      logs.put(task, chunk, Purpose.DECISION);
      stored.accept(task);
    } catch (TensorFlowIgniteException e) {
      requireFull(e);
      return false;
    }
    part.replaceable -= cost;
    return true;
  }

  private static void requireFull(TensorFlowIgniteException e) {
    if (e.code() != ErrorCode.ERROR_CODE_STORAGE_FULL) {
      throw e;
    }
  }

  /** Removes chunks until the rest of the part has at most these bytes, or is one chunk. */
  private void removeOldest(Part part, long bytes) {
    Map<TaskKey, Long> starts = new LinkedHashMap<>();
    while (part.stored.size() > 1 && part.bytes > bytes) {
      Stored oldest = part.stored.remove();
      part.bytes -= oldest.cost;
      starts.put(oldest.task, oldest.sequence + 1);
    }
    starts.forEach(
        (task, start) -> {
          Process process = part.processes.get(task);
          try {
            logs.removeOldest(task, process.first, start);
            process.first = start;
          } catch (RuntimeException e) {
            // The next removal includes these chunks. The new chunk is stored, and must not be
            // stored again because of this.
            log.warning("The oldest output of a task could not be removed [task=" + task + "]", e);
          }
        });
  }
}
