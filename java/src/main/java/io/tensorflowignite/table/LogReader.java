package io.tensorflowignite.table;

import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads the stored output of one process in order, from its first chunk that is left. */
public final class LogReader {
  private final LogTable logs;
  private final TaskKey task;
  private long next;
  private long position;

  public LogReader(LogTable logs, TaskKey task) {
    this.logs = logs;
    this.task = task;
  }

  /** Bytes of output that were read or dropped so far. */
  public long position() {
    return position;
  }

  /** The next chunks with the bytes before each that are dropped or lost; empty: no more yet. */
  public List<LogChunk> next() {
    List<LogChunk> chunks = logs.read(task, next);
    if (chunks.isEmpty() || chunks.get(0).getSequence() > next) {
      long start = logs.start(task);
      if (start > next) {
        next = start;
        chunks = logs.read(task, start);
      }
    }
    List<LogChunk> answer = new ArrayList<>();
    for (LogChunk chunk : chunks) {
      long before = Math.max(chunk.getDroppedBytes(), chunk.getPosition() - position);
      answer.add(chunk.toBuilder().setDroppedBytes(before).build());
      next = chunk.getSequence() + 1;
      position += before + chunk.getData().size();
    }
    return answer;
  }

  /** Takes chunks back that `next` has returned, the last ones: it returns them again. */
  public void takeBack(List<LogChunk> chunks) {
    for (LogChunk chunk : chunks) {
      position -= chunk.getDroppedBytes() + chunk.getData().size();
    }
    next = chunks.isEmpty() ? next : chunks.get(0).getSequence();
  }

  /** Takes a gap back that `missingEnd` has returned: it returns it again. */
  public void takeBackEnd(LogChunk gap) {
    position -= gap.getDroppedBytes();
  }

  /**
   * The gap at the end of the output of a process that has ended: the nodes that stored its last
   * chunks are lost. Empty: nothing is missing, or not known.
   *
   * @param bytes bytes of the whole output, see {@link LogTable#bytes}
   */
  public Optional<LogChunk> missingEnd(long bytes) {
    long missing = bytes - position;
    if (missing <= 0) {
      return Optional.empty();
    }
    position = bytes;
    return Optional.of(LogChunk.newBuilder().setDroppedBytes(missing).build());
  }
}
