package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The open uploads of a node. Each upload has one block on the heap. When the number of uploads is
 * at its limit, a new upload ends the oldest upload that has sent nothing for a while.
 */
final class CodeUploads {
  static final int MAX_UPLOADS = 32;
  private static final int SILENT_S = 10;

  /** The parts of an upload that other uploads use. */
  interface Upload {
    /** When its last message arrived, in nanoseconds of the node's clock. */
    long lastMessageAt();

    /** Ends the upload with an error, and releases its memory. */
    void end(TensorFlowIgniteException reason);
  }

  private final LongSupplier clock;
  private final Set<Upload> open = new LinkedHashSet<>();

  /**
   * @param clock the time in nanoseconds
   */
  CodeUploads(LongSupplier clock) {
    this.clock = clock;
  }

  long now() {
    return clock.getAsLong();
  }

  /** Throws LIMIT_EXCEEDED if all open uploads are in use. */
  void begin(Upload upload) {
    Upload silent = null;
    synchronized (open) {
      if (open.size() == MAX_UPLOADS) {
        silent = open.stream().filter(this::isSilent).findFirst().orElseThrow(CodeUploads::full);
        open.remove(silent);
      }
      open.add(upload);
    }
    if (silent != null) {
      silent.end(full());
    }
  }

  void remove(Upload upload) {
    synchronized (open) {
      open.remove(upload);
    }
  }

  private boolean isSilent(Upload upload) {
    return now() - upload.lastMessageAt() >= TimeUnit.SECONDS.toNanos(SILENT_S);
  }

  private static TensorFlowIgniteException full() {
    return limitExceeded(
        "This node has %d uploads of code archives. No more are accepted at a time, and above this"
            + " limit an upload that has sent nothing for %d s ends. Try again, or call another"
            + " node.",
        MAX_UPLOADS, SILENT_S);
  }
}
