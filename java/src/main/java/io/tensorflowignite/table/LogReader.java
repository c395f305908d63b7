package io.tensorflowignite.table;

import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayList;
import java.util.List;

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

  /** The next chunks with the dropped bytes before each; empty: no more are stored yet. */
  public List<LogChunk> next() {
    List<LogChunk> chunks = logs.read(task, next);
    long dropped = 0;
    if (chunks.isEmpty()) {
      LogChunk start = logs.start(task);
      if (start.getSequence() <= next) {
        return chunks;
      }
      dropped = start.getDroppedBytes() - position;
      chunks = logs.read(task, start.getSequence());
    }
    List<LogChunk> answer = new ArrayList<>();
    for (LogChunk chunk : chunks) {
      long before = chunk.getDroppedBytes() + dropped;
      dropped = 0;
      answer.add(chunk.toBuilder().setDroppedBytes(before).build());
      next = chunk.getSequence() + 1;
      position += before + chunk.getData().size();
    }
    return answer;
  }
}
