package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.ignite.binary.BinaryObject;

/**
 * A column whose values consist of values of other columns, its children: a list, map or object.
 */
abstract class NestedColumn extends Column {
  final Column[] children;

  private NestedColumn(Nulls nulls, BufferAllocator allocator, Column... children) {
    super(nulls, allocator);
    this.children = children;
  }

  /** The number of values of each child in this column's first values. */
  abstract int childCount(int values);

  @Override
  public long bytes() {
    long bytes = 0;
    for (Column child : children) {
      bytes += child.bytes();
    }
    return bytes;
  }

  @Override
  List<Batch.ColumnData> takeChildren() {
    List<Batch.ColumnData> taken = new ArrayList<>(children.length);
    for (Column child : children) {
      taken.add(child.take());
    }
    return taken;
  }

  @Override
  void truncateValues(int from) {
    int values = childCount(from);
    for (Column child : children) {
      child.truncate(values);
    }
  }

  @Override
  void cleared() {
    for (Column child : children) {
      child.clear();
    }
  }

  /** Lists of any length: an offsets buffer, and a child with all their elements. */
  static class Lists extends NestedColumn {
    private final GrowingBuffer offsets = buffer(0);

    Lists(Nulls nulls, BufferAllocator allocator, Column... children) {
      super(nulls, allocator, children);
    }

    @Override
    void put(Object value) throws MismatchException {
      addElements(value, children[0]);
      putDefault();
    }

    /** Ends a value; without further elements it is empty. */
    @Override
    final void putDefault() {
      offsets.putEnd(count(), children[0].count());
      added(1);
    }

    @Override
    public final long bytes() {
      return (long) count() * GrowingBuffer.OFFSET + super.bytes();
    }

    @Override
    final List<ArrowBuf> takeBuffers() {
      return List.of(offsets.takeOffsets(count()));
    }

    @Override
    final int childCount(int values) {
      return offsets.start(Math.min(values, count()));
    }
  }

  /** Maps: lists whose elements are entries, which have children for keys and values. */
  static final class Maps extends Lists {
    private final ArrowBuf allValid;

    /**
     * @param keys accepts no null
     */
    Maps(Column keys, Column values, Nulls nulls, BufferAllocator allocator) {
      super(nulls, allocator, keys, values);
      allValid = allocator.getEmpty();
    }

    @Override
    void put(Object value) throws MismatchException {
      if (!(value instanceof Map)) {
        throw MismatchException.otherClass(value, "a map");
      }
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        try {
          children[0].append(entry.getKey());
        } catch (MismatchException mismatch) {
          throw mismatch.inField("key");
        }
        try {
          children[1].append(entry.getValue());
        } catch (MismatchException mismatch) {
          throw mismatch.inField(String.valueOf(entry.getKey()));
        }
      }
      putDefault();
    }

    @Override
    List<Batch.ColumnData> takeChildren() {
      int entries = children[0].count();
      return List.of(new Batch.ColumnData(entries, 0, List.of(allValid), super.takeChildren()));
    }
  }

  /**
   * Lists of a fixed length: no buffer of their own, only a child. With a fixed list as child they
   * have several dimensions, and a stored value may be nested or flat.
   */
  static final class FixedLists extends NestedColumn {
    private final Column child;
    private final int length;
    private final int flatLength;

    FixedLists(Column child, int length, Nulls nulls, BufferAllocator allocator) {
      super(nulls, allocator, child);
      this.child = child;
      this.length = length;
      flatLength = length * (child instanceof FixedLists ? ((FixedLists) child).flatLength : 1);
    }

    @Override
    void put(Object value) throws MismatchException {
      int elements = size(value);
      boolean flat = child instanceof FixedLists && isFlat(value);
      int expected = flat ? flatLength : length;
      if (elements != expected) {
        throw new MismatchException("has " + elements + " elements instead of " + expected);
      }
      if (flat) {
        putFlat(value, 1);
      } else {
        addElements(value, child);
        added(1);
      }
    }

    /** Adds {@code lists} lists whose elements lie side by side, over all dimensions. */
    private void putFlat(Object elements, int lists) throws MismatchException {
      if (child instanceof FixedLists) {
        ((FixedLists) child).putFlat(elements, lists * length);
      } else {
        addElements(elements, child);
      }
      added(lists);
    }

    @Override
    void putDefault() throws MismatchException {
      for (int i = 0; i < length; i++) {
        child.putDefault();
      }
      added(1);
    }

    @Override
    void putNull() throws MismatchException {
      for (int i = 0; i < length; i++) {
        child.putMissing();
      }
      added(1);
    }

    @Override
    int childCount(int values) {
      return values * length;
    }
  }

  /** Nested objects: no buffer, one child for each field. A field that an object lacks is null. */
  static final class Structs extends NestedColumn {
    private final String[] names;
    private final RowField.ObjectField[] fields;

    Structs(List<String> names, List<Column> children, Nulls nulls, BufferAllocator allocator) {
      super(nulls, allocator, children.toArray(new Column[0]));
      this.names = names.toArray(new String[0]);
      fields = names.stream().map(RowField.ObjectField::new).toArray(RowField.ObjectField[]::new);
    }

    @Override
    void put(Object value) throws MismatchException {
      if (!(value instanceof BinaryObject)) {
        throw MismatchException.otherClass(value, "an object");
      }
      for (int i = 0; i < children.length; i++) {
        try {
          children[i].append(fields[i].of((BinaryObject) value));
        } catch (MismatchException mismatch) {
          throw mismatch.inField(names[i]);
        }
      }
      added(1);
    }

    @Override
    void putDefault() throws MismatchException {
      for (Column child : children) {
        child.putDefault();
      }
      added(1);
    }

    @Override
    void putNull() throws MismatchException {
      for (Column child : children) {
        child.putMissing();
      }
      added(1);
    }

    @Override
    int childCount(int values) {
      return values;
    }
  }

  /** Adds the elements of a stored list: an array of primitives or objects, or a collection. */
  private static void addElements(Object list, Column items) throws MismatchException {
    if (list instanceof Object[]) {
      addAll(Arrays.asList((Object[]) list), items);
    } else if (list instanceof Collection) {
      addAll((Collection<?>) list, items);
    } else if (list.getClass().isArray()) {
      items.putAll(list);
    } else {
      throw MismatchException.otherClass(list, "a list");
    }
  }

  private static void addAll(Iterable<?> elements, Column items) throws MismatchException {
    int position = 0;
    for (Object element : elements) {
      try {
        items.append(element);
      } catch (MismatchException mismatch) {
        throw mismatch.at(position);
      }
      position++;
    }
  }

  private static int size(Object list) throws MismatchException {
    if (list instanceof Collection) {
      return ((Collection<?>) list).size();
    }
    if (list.getClass().isArray()) {
      return Array.getLength(list);
    }
    throw MismatchException.otherClass(list, "a list");
  }

  /** Whether none of the elements is a list itself. */
  private static boolean isFlat(Object list) {
    if (list instanceof Object[]) {
      return Arrays.stream((Object[]) list).noneMatch(NestedColumn::isList);
    }
    return !(list instanceof Collection)
        || ((Collection<?>) list).stream().noneMatch(NestedColumn::isList);
  }

  private static boolean isList(Object value) {
    return value instanceof Collection || value != null && value.getClass().isArray();
  }
}
