package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * One column of a batch under construction, in Arrow's layout. It has a validity buffer only if it
 * holds a null: a validity buffer would add an eighth to the size of uint8 values.
 */
public abstract class Column {
  /** The largest offset: Arrow's offsets have 32 bits. */
  public static final long MAX_OFFSET = Integer.MAX_VALUE;

  private final BufferAllocator allocator;
  private final Nulls nulls;
  private final Validity validity;
  private int count;

  public Column(Nulls nulls, BufferAllocator allocator) {
    this.nulls = nulls;
    this.allocator = allocator;
    validity = nulls == Nulls.NULLS_KEEP ? new Validity(allocator) : null;
  }

  /**
   * Adds one value.
   *
   * @throws MismatchException the value does not fit; parts of it may have been added: the caller
   *     must call {@link #truncate}
   */
  public final void append(Object value) throws MismatchException {
    if (value == null) {
      putMissing();
    } else {
      put(value);
    }
  }

  /** Adds one value, which is not null. */
  public abstract void put(Object value) throws MismatchException;

  /** Adds the default that replaces a null: zero, false, an empty text, an empty list. */
  public abstract void putDefault() throws MismatchException;

  /** Size of the column's values, with its children, in bytes. */
  public abstract long bytes();

  /** Returns the buffers after the validity buffer; the caller owns them. */
  public List<ArrowBuf> takeBuffers() {
    return List.of();
  }

  /**
   * Removes the values from an index on, also from the children, if later values would not
   * overwrite them.
   */
  public void truncateValues(int from) {}

  /** Frees the buffers of this column and of its children. */
  public abstract void free();

  public List<ColumnData> takeChildren() {
    return List.of();
  }

  /** Adds the elements of an array of primitives. */
  public void putAll(Object array) throws MismatchException {
    int length = Array.getLength(array);
    for (int i = 0; i < length; i++) {
      try {
        put(Array.get(array, i));
      } catch (MismatchException mismatch) {
        throw mismatch.at(i);
      }
    }
  }

  /** Adds a null, or the default that replaces it. */
  public final void putMissing() throws MismatchException {
    if (nulls == Nulls.NULLS_DEFAULT) {
      putDefault();
    } else if (nulls == Nulls.NULLS_KEEP) {
      int index = count;
      putNull();
      validity.setNull(index);
    } else {
      throw new MismatchException("is null");
    }
  }

  /** Adds the values below a null; readers ignore them. */
  public void putNull() throws MismatchException {
    putDefault();
  }

  /** Removes the values from an index on. */
  public final void truncate(int from) {
    // Also for from == count: children may hold parts of a value that did not fit.
    truncateValues(from);
    if (validity != null && from < count) {
      validity.truncate(from, count);
    }
    count = Math.min(from, count);
  }

  /** Returns the column's values, which the caller owns; the column is empty then. */
  public final ColumnData take() {
    List<ArrowBuf> buffers = new ArrayList<>(3);
    int nullCount = validity == null ? 0 : validity.nulls();
    buffers.add(validity == null ? allocator.getEmpty() : validity.take(count));
    buffers.addAll(takeBuffers());
    List<ColumnData> children = takeChildren();
    ColumnData data = new ColumnData(count, nullCount, buffers, children);
    count = 0;
    return data;
  }

  /** Removes all values and frees their memory. */
  public final void clear() {
    count = 0;
    if (validity != null) {
      validity.clear();
    }
    free();
  }

  public final int count() {
    return count;
  }

  /** Counts values that a subclass has put into its buffers. */
  public final void added(int values) {
    if (validity != null) {
      validity.setValid(count, values);
    }
    count += values;
  }

  public final GrowingBuffer buffer() {
    return buffer(0);
  }

  /**
   * @param expected size of the first batch's buffer, in bytes; 0: not known
   */
  public final GrowingBuffer buffer(long expected) {
    return new GrowingBuffer(allocator, expected);
  }

  /** Returns an offset that a batch can hold, else throws. */
  public static long requireOffset(long offset) throws MismatchException {
    if (offset > MAX_OFFSET) {
      throw MismatchException.batchTooLarge(MAX_OFFSET);
    }
    return offset;
  }
}
