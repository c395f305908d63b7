package io.tensorflowignite.data.change;

import io.tensorflowignite.data.read.HeapBudget;
import org.apache.ignite.binary.BinaryObject;

/** The part of the heap that the keys of changes may have. Thread-safe. */
final class ChangeMemory extends HeapBudget {
  /** All logs of a node may have this fraction of the heap. */
  private static final int HEAP_DIVISOR = 16;

  /** A key's object, and its reference in a log. */
  private static final int OBJECT_BYTES = 32;

  private static final int UNKNOWN_BYTES = 64;

  ChangeMemory() {
    this(Runtime.getRuntime().maxMemory() / HEAP_DIVISOR);
  }

  ChangeMemory(long bytes) {
    super(bytes);
  }

  /** The size of a key in the heap, about. */
  static long sizeOf(Object key) {
    if (key instanceof Number) {
      return OBJECT_BYTES;
    }
    if (key instanceof CharSequence) {
      return OBJECT_BYTES + 2L * ((CharSequence) key).length();
    }
    if (key instanceof BinaryObject) {
      return OBJECT_BYTES + ((BinaryObject) key).size();
    }
    if (key instanceof byte[]) {
      return OBJECT_BYTES + ((byte[]) key).length;
    }
    return OBJECT_BYTES + UNKNOWN_BYTES;
  }
}
