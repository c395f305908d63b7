package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObject;

/** Strings in UTF-8, and raw bytes: an offsets buffer and one buffer with all bytes. */
final class BytesColumn extends Column {
  private static final byte[] NONE = new byte[0];

  private interface Layout {
    byte[] bytes(Object value) throws MismatchException;
  }

  private final Layout layout;

  /** The bytes that replace a null. */
  private final byte[] defaultBytes;

  private final GrowingBuffer offsets = buffer(0);
  private final GrowingBuffer bytes = buffer(0);
  private long end;

  /**
   * @param strict accepts only the class that Ignite stores, and converts no other
   */
  BytesColumn(Field field, boolean strict, Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
    boolean text = field.getType() instanceof ArrowType.Utf8;
    boolean decimal = strict && LogicalType.DECIMAL.matches(field);
    defaultBytes = decimal ? utf8("0") : NONE;
    if (!strict) {
      layout = text ? BytesColumn::anyText : BytesColumn::anyBytes;
    } else if (decimal) {
      layout = value -> utf8(Decimals.write(require(BigDecimal.class, value)));
    } else if (LogicalType.UUID.matches(field)) {
      layout = value -> utf8(require(UUID.class, value).toString());
    } else {
      layout =
          text
              ? value -> utf8(require(String.class, value))
              : value -> require(byte[].class, value);
    }
  }

  private static <T> T require(Class<T> expected, Object value) throws MismatchException {
    if (value.getClass() != expected) {
      throw MismatchException.otherClass(value, expected.getSimpleName());
    }
    return expected.cast(value);
  }

  private static byte[] anyText(Object value) throws MismatchException {
    if (value instanceof BigDecimal) {
      return utf8(Decimals.write((BigDecimal) value));
    }
    if (value instanceof String || value instanceof UUID || value instanceof Character) {
      return utf8(value.toString());
    }
    if (value instanceof Enum) {
      return utf8(((Enum<?>) value).name());
    }
    if (LogicalType.isEnum(value)) {
      return utf8(LogicalType.enumName((BinaryObject) value));
    }
    throw MismatchException.otherClass(value, "String");
  }

  private static byte[] anyBytes(Object value) throws MismatchException {
    return value instanceof byte[] ? (byte[]) value : anyText(value);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  void put(Object value) throws MismatchException {
    add(layout.bytes(value));
  }

  @Override
  void putDefault() throws MismatchException {
    add(defaultBytes);
  }

  @Override
  void putNull() throws MismatchException {
    add(NONE);
  }

  private void add(byte[] raw) throws MismatchException {
    long next = requireOffset(end + raw.length);
    if (raw.length > 0) {
      bytes.require(next).setBytes(end, raw);
    }
    offsets.putEnd(count(), next);
    end = next;
    added(1);
  }

  @Override
  public long bytes() {
    return end + (long) count() * GrowingBuffer.OFFSET;
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    List<ArrowBuf> taken = Arrays.asList(offsets.takeOffsets(count()), bytes.take(end));
    end = 0;
    return taken;
  }

  @Override
  void truncateValues(int from) {
    if (from < count()) {
      end = offsets.start(from);
    }
  }

  @Override
  void cleared() {
    end = 0;
  }
}
