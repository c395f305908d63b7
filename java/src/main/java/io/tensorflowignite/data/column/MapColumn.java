package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/** Maps: an offsets buffer, and a child of all entries, which has children for keys and values. */
final class MapColumn extends Column {
  private final BufferAllocator allocator;
  private final Column keys;
  private final Column values;
  private final GrowingBuffer offsets = buffer();

  /**
   * @param keys accepts no null
   */
  MapColumn(Column keys, Column values, Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
    this.keys = keys;
    this.values = values;
    this.allocator = allocator;
  }

  @Override
  public void put(Object value) throws MismatchException {
    if (!(value instanceof Map)) {
      throw MismatchException.otherClass(value, "a map");
    }
    for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
      try {
        keys.append(entry.getKey());
      } catch (MismatchException mismatch) {
        throw mismatch.inField("key");
      }
      try {
        values.append(entry.getValue());
      } catch (MismatchException mismatch) {
        throw mismatch.inField(String.valueOf(entry.getKey()));
      }
    }
    end();
  }

  @Override
  public void putDefault() {
    end();
  }

  private void end() {
    Offsets.append(offsets, count(), keys.count());
    added(1);
  }

  @Override
  public long bytes() {
    return (long) count() * Offsets.WIDTH + keys.bytes() + values.bytes();
  }

  @Override
  public List<ArrowBuf> takeBuffers() {
    return List.of(Offsets.take(offsets, count()));
  }

  @Override
  public List<ColumnData> takeChildren() {
    ColumnData key = keys.take();
    List<ArrowBuf> allValid = List.of(allocator.getEmpty());
    return List.of(new ColumnData(key.count(), 0, allValid, Arrays.asList(key, values.take())));
  }

  @Override
  public void truncateValues(int from) {
    int entries = Offsets.start(offsets, Math.min(from, count()));
    keys.truncate(entries);
    values.truncate(entries);
  }

  @Override
  public void free() {
    offsets.clear();
    keys.clear();
    values.clear();
  }
}
