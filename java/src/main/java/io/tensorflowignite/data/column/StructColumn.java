package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.ignite.binary.BinaryObject;

/** Nested objects: no buffer, one child for each field. A field that an object lacks is null. */
final class StructColumn extends Column {
  private final String[] names;
  private final RowField.ObjectField[] fields;
  private final Column[] children;

  StructColumn(List<String> names, List<Column> children, Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
    this.names = names.toArray(new String[0]);
    this.children = children.toArray(new Column[0]);
    fields = new RowField.ObjectField[this.names.length];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = new RowField.ObjectField(this.names[i]);
    }
  }

  @Override
  public void put(Object value) throws MismatchException {
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
  public void putDefault() throws MismatchException {
    for (Column child : children) {
      child.putDefault();
    }
    added(1);
  }

  @Override
  public void putNull() throws MismatchException {
    for (Column child : children) {
      child.putMissing();
    }
    added(1);
  }

  @Override
  public long bytes() {
    long bytes = 0;
    for (Column child : children) {
      bytes += child.bytes();
    }
    return bytes;
  }

  @Override
  public List<ColumnData> takeChildren() {
    List<ColumnData> taken = new ArrayList<>(children.length);
    for (Column child : children) {
      taken.add(child.take());
    }
    return taken;
  }

  @Override
  public void truncateValues(int from) {
    for (Column child : children) {
      child.truncate(from);
    }
  }

  @Override
  public void free() {
    for (Column child : children) {
      child.clear();
    }
  }
}
