package io.tensorflowignite.data;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Field;

/** Strings in UTF-8, and raw bytes: offsets and one run of bytes. */
final class BytesColumn extends Column {
  private final boolean text;
  private final GrowingBuffer offsets = buffer();
  private final GrowingBuffer bytes = buffer();
  private long end;

  BytesColumn(Field field, boolean text, BufferAllocator allocator) {
    super(field, allocator);
    this.text = text;
  }

  @Override
  void append(Object value) throws MismatchException {
    byte[] raw = text ? ((String) value).getBytes(StandardCharsets.UTF_8) : (byte[]) value;
    long next = fit(end + raw.length);
    if (raw.length > 0) {
      bytes.require(next).setBytes(end, raw);
    }
    Offsets.append(offsets, count(), next);
    end = next;
    added(1);
  }

  @Override
  int appendAll(Object array) throws MismatchException {
    Object[] values = (Object[]) array;
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        throw new MismatchException("is null at position " + i);
      }
      append(values[i]);
    }
    return values.length;
  }

  @Override
  long bytes() {
    return end + (long) count() * Offsets.WIDTH;
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    List<ArrowBuf> taken =
        Arrays.asList(allValid(), Offsets.take(offsets, count()), bytes.take(end));
    end = 0;
    return taken;
  }

  @Override
  void clear() {
    forgetCount();
    end = 0;
    offsets.clear();
    bytes.clear();
  }
}
