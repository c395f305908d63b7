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
  private static final long MAX_OFFSET = Integer.MAX_VALUE;

  private final BufferAllocator allocator;
  private final Nulls nulls;
  private final List<GrowingBuffer> buffers = new ArrayList<>(3);

  /** One bit for each value, 0 for a null. It is written from the first null of a batch on. */
  private final GrowingBuffer validity;

  private int nullCount;
  private int count;

  Column(Nulls nulls, BufferAllocator allocator) {
    this.nulls = nulls;
    this.allocator = allocator;
    validity = buffer(0);
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
  abstract void put(Object value) throws MismatchException;

  /** Adds the default that replaces a null: zero, false, an empty text, an empty list. */
  abstract void putDefault() throws MismatchException;

  /** Size of the column's values, with its children, in bytes. */
  public abstract long bytes();

  /** Returns the buffers after the validity buffer; the caller owns them. */
  List<ArrowBuf> takeBuffers() {
    return List.of();
  }

  List<Batch.ColumnData> takeChildren() {
    return List.of();
  }

  /**
   * Removes the values from an index on, also from the children, if later values would not
   * overwrite them.
   */
  void truncateValues(int from) {}

  /** Called when all values are removed and the buffers are freed. */
  void cleared() {}

  /** Adds the elements of an array of primitives. */
  void putAll(Object array) throws MismatchException {
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
  final void putMissing() throws MismatchException {
    if (nulls == Nulls.NULLS_DEFAULT) {
      putDefault();
    } else if (nulls == Nulls.NULLS_KEEP) {
      int index = count;
      putNull();
      if (nullCount == 0) {
        setValid(0, index);
      }
      validity.setBit(index, false);
      nullCount++;
    } else {
      throw new MismatchException("is null");
    }
  }

  /** Adds the values below a null; readers ignore them. */
  void putNull() throws MismatchException {
    putDefault();
  }

  private void setValid(int from, int to) {
    for (int i = from; i < to; i++) {
      validity.setBit(i, true);
    }
  }

  /** Removes the values from an index on. */
  public final void truncate(int from) {
    // Also for from == count: children may hold parts of a value that did not fit.
    truncateValues(from);
    for (int i = from; nullCount > 0 && i < count; i++) {
      nullCount -= validity.bit(i) ? 0 : 1;
    }
    count = Math.min(from, count);
  }

  /** Returns the column's values, which the caller owns; the column is empty then. */
  public final Batch.ColumnData take() {
    List<ArrowBuf> taken = new ArrayList<>(3);
    taken.add(validity.take(nullCount == 0 ? 0 : GrowingBuffer.bytesOfBits(count)));
    taken.addAll(takeBuffers());
    Batch.ColumnData data = new Batch.ColumnData(count, nullCount, taken, takeChildren());
    count = 0;
    nullCount = 0;
    return data;
  }

  /** Removes all values and frees their memory. */
  public final void clear() {
    count = 0;
    nullCount = 0;
    buffers.forEach(GrowingBuffer::clear);
    cleared();
  }

  public final int count() {
    return count;
  }

  /** Counts values that a subclass has put into its buffers. */
  final void added(int values) {
    if (nullCount > 0) {
      setValid(count, count + values);
    }
    count += values;
  }

  /**
   * Another buffer of this column.
   *
   * @param expected size of the first batch's buffer, in bytes; 0: not known
   */
  final GrowingBuffer buffer(long expected) {
    GrowingBuffer buffer = new GrowingBuffer(allocator, expected);
    buffers.add(buffer);
    return buffer;
  }

  /** Returns an offset that a batch can hold, else throws. */
  static long requireOffset(long offset) throws MismatchException {
    if (offset > MAX_OFFSET) {
      throw MismatchException.batchTooLarge(MAX_OFFSET);
    }
    return offset;
  }
}
