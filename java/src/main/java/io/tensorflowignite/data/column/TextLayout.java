package io.tensorflowignite.data.column;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObject;

/** Converts the values of a column of texts or bytes to bytes. */
interface TextLayout {
  byte[] bytes(Object value) throws MismatchException;

  /** The bytes that replace a null. */
  default byte[] defaultBytes() {
    return new byte[0];
  }

  /**
   * @param strict accepts only the class that Ignite stores, and converts no other
   */
  static TextLayout of(Field field, boolean strict) {
    boolean text = field.getType() instanceof ArrowType.Utf8;
    if (!strict) {
      return text ? TextLayout::anyText : TextLayout::anyBytes;
    }
    if (LogicalType.UUID.matches(field)) {
      return value -> utf8(require(UUID.class, value).toString());
    }
    if (LogicalType.DECIMAL.matches(field)) {
      return new TextLayout() {
        @Override
        public byte[] bytes(Object value) throws MismatchException {
          return utf8(DecimalText.write(require(BigDecimal.class, value)));
        }

        @Override
        public byte[] defaultBytes() {
          return utf8("0");
        }
      };
    }
    return text
        ? value -> utf8(require(String.class, value))
        : value -> require(byte[].class, value);
  }

  private static <T> T require(Class<T> expected, Object value) throws MismatchException {
    if (value.getClass() != expected) {
      throw MismatchException.otherClass(value, expected.getSimpleName());
    }
    return expected.cast(value);
  }

  private static byte[] anyText(Object value) throws MismatchException {
    if (value instanceof BigDecimal) {
      return utf8(DecimalText.write((BigDecimal) value));
    }
    if (value instanceof String || value instanceof UUID || value instanceof Character) {
      return utf8(value.toString());
    }
    if (value instanceof Enum) {
      return utf8(((Enum<?>) value).name());
    }
    if (Enums.isValue(value)) {
      return utf8(Enums.name((BinaryObject) value));
    }
    throw MismatchException.otherClass(value, "String");
  }

  private static byte[] anyBytes(Object value) throws MismatchException {
    return value instanceof byte[] ? (byte[]) value : anyText(value);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
