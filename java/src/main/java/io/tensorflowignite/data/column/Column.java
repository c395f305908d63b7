package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * One column of a batch under construction, laid out as Arrow prescribes. A validity buffer exists
 * only where a null was kept: for uint8 arrays it would add an eighth to what travels.
 */
public abstract class Column {
  /** What the offsets of a batch can count. */
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
   * @throws MismatchException it does not fit; some of it may have been added, see truncate
   */
  public final void append(Object value) throws MismatchException {
    if (value == null) {
      missing();
    } else {
      put(value);
    }
  }

  /** Adds one value that is there. */
  public abstract void put(Object value) throws MismatchException;

  /** Adds what stands in the place of a null: zero, false, an empty text, an empty list. */
  public abstract void putDefault() throws MismatchException;

  /** How many bytes the column's values take, with its children. */
  public abstract long bytes();

  /** Hands over the buffers behind the validity, which hold the column's values. */
  public abstract List<ArrowBuf> takeBuffers();

  /** Forgets the values of this index and behind, and those of its children. */
  public abstract void forget(int from);

  /** Frees what the column holds, of whose values none counts any more. */
  public abstract void free();

  public List<ColumnData> takeChildren() {
    return Collections.emptyList();
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

  /** Adds a null, or its stand-in. */
  public final void missing() throws MismatchException {
    if (nulls == Nulls.NULLS_DEFAULT) {
      putDefault();
    } else if (nulls == Nulls.NULLS_KEEP) {
      int index = count;
      putNull();
      validity.missing(index);
    } else {
      throw new MismatchException("is null");
    }
  }

  /** Adds the values, whatever they are, that stand below a null. */
  public void putNull() throws MismatchException {
    putDefault();
  }

  /** Takes back the values of this index and behind. */
  public final void truncate(int from) {
    // Children may hold more than the values that are counted here.
    forget(from);
    if (validity != null && from < count) {
      validity.truncate(from, count);
    }
    count = Math.min(from, count);
  }

  /** Hands over the column as it stands; it starts anew, empty. */
  public final ColumnData take() {
    List<ArrowBuf> buffers = new ArrayList<>(3);
    int missing = validity == null ? 0 : validity.nulls();
    buffers.add(validity == null ? allocator.getEmpty() : validity.take(count));
    buffers.addAll(takeBuffers());
    List<ColumnData> children = takeChildren();
    ColumnData data = new ColumnData(count, missing, buffers, children);
    count = 0;
    return data;
  }

  /** Frees what the column holds. */
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

  public final void added(int values) {
    if (validity != null) {
      validity.valid(count, values);
    }
    count += values;
  }

  public final GrowingBuffer buffer() {
    return buffer(0);
  }

  /**
   * @param expected what the first batch will need, in bytes; 0 when that is not known
   */
  public final GrowingBuffer buffer(long expected) {
    return new GrowingBuffer(allocator, expected);
  }

  public static long fit(long offset) throws MismatchException {
    if (offset > MAX_OFFSET) {
      throw MismatchException.batchTooLarge(MAX_OFFSET);
    }
    return offset;
  }
}
