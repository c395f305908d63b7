package io.tensorflowignite.data.column;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObject;

/** How the values of a column of texts or bytes become bytes. */
interface TextLayout {
  /** The longest decimal that is written out. */
  int MAX_DIGITS = 100_000;

  byte[] bytes(Object value) throws MismatchException;

  /** In the place of a null. */
  default byte[] standIn() {
    return new byte[0];
  }

  /**
   * @param strict only values of the type that Ignite knows; else what can be converted, too
   */
  static TextLayout of(Field field, boolean strict) {
    boolean text = field.getType() instanceof ArrowType.Utf8;
    if (!strict) {
      return text ? TextLayout::anyText : TextLayout::anyBytes;
    }
    if (Marks.UUID.marks(field)) {
      return value -> {
        if (value.getClass() != UUID.class) {
          throw MismatchException.otherClass(value, "UUID");
        }
        return utf8(value.toString());
      };
    }
    if (Marks.DECIMAL.marks(field)) {
      return new TextLayout() {
        @Override
        public byte[] bytes(Object value) throws MismatchException {
          if (value.getClass() != BigDecimal.class) {
            throw MismatchException.otherClass(value, "BigDecimal");
          }
          return utf8(plain((BigDecimal) value));
        }

        @Override
        public byte[] standIn() {
          return utf8("0");
        }
      };
    }
    if (text) {
      return value -> {
        if (value.getClass() != String.class) {
          throw MismatchException.otherClass(value, "String");
        }
        return utf8((String) value);
      };
    }
    return value -> {
      if (value.getClass() != byte[].class) {
        throw MismatchException.otherClass(value, "byte[]");
      }
      return (byte[]) value;
    };
  }

  private static byte[] anyText(Object value) throws MismatchException {
    if (value instanceof BigDecimal) {
      return utf8(plain((BigDecimal) value));
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

  private static String plain(BigDecimal number) throws MismatchException {
    if (Math.abs((long) number.scale()) + number.precision() > MAX_DIGITS) {
      throw new MismatchException("has more than " + MAX_DIGITS + " digits when it is written out");
    }
    return number.toPlainString();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
