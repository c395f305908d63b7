package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/** Strings in UTF-8, and raw bytes: an offsets buffer and one buffer with all bytes. */
final class BytesColumn extends Column {
  private static final byte[] NONE = new byte[0];

  private final TextLayout layout;
  private final GrowingBuffer offsets = buffer();
  private final GrowingBuffer bytes = buffer();
  private long end;

  BytesColumn(TextLayout layout, Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
    this.layout = layout;
  }

  @Override
  public void put(Object value) throws MismatchException {
    add(layout.bytes(value));
  }

  @Override
  public void putDefault() throws MismatchException {
    add(layout.defaultBytes());
  }

  @Override
  public void putNull() throws MismatchException {
    add(NONE);
  }

  private void add(byte[] raw) throws MismatchException {
    long next = requireOffset(end + raw.length);
    if (raw.length > 0) {
      bytes.require(next).setBytes(end, raw);
    }
    Offsets.append(offsets, count(), next);
    end = next;
    added(1);
  }

  @Override
  public long bytes() {
    return end + (long) count() * Offsets.WIDTH;
  }

  @Override
  public List<ArrowBuf> takeBuffers() {
    List<ArrowBuf> taken = Arrays.asList(Offsets.take(offsets, count()), bytes.take(end));
    end = 0;
    return taken;
  }

  @Override
  public void truncateValues(int from) {
    if (from < count()) {
      end = Offsets.start(offsets, from);
    }
  }

  @Override
  public void free() {
    end = 0;
    offsets.clear();
    bytes.clear();
  }
}
