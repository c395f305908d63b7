package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/** Lists of any length: an offsets buffer, and a child with all their elements. */
final class ListColumn extends Column {
  private final Column child;
  private final GrowingBuffer offsets = buffer();

  ListColumn(Column child, Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
    this.child = child;
  }

  @Override
  public void put(Object value) throws MismatchException {
    ListValues.add(value, child);
    end();
  }

  @Override
  public void putDefault() {
    end();
  }

  private void end() {
    Offsets.append(offsets, count(), child.count());
    added(1);
  }

  @Override
  public long bytes() {
    return (long) count() * Offsets.WIDTH + child.bytes();
  }

  @Override
  public List<ArrowBuf> takeBuffers() {
    return List.of(Offsets.take(offsets, count()));
  }

  @Override
  public List<ColumnData> takeChildren() {
    return List.of(child.take());
  }

  @Override
  public void truncateValues(int from) {
    child.truncate(Offsets.start(offsets, Math.min(from, count())));
  }

  @Override
  public void free() {
    offsets.clear();
    child.clear();
  }
}
