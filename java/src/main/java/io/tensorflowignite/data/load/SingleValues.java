package io.tensorflowignite.data.load;

import io.tensorflowignite.data.column.Decimals;
import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.LogicalType;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.Temporals;
import io.tensorflowignite.data.schema.LoadableTypes;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DateMilliVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float2Vector;
import org.apache.arrow.vector.TimeStampVector;
import org.apache.arrow.vector.VariableWidthFieldVector;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** Converts the values of vectors that are not nested to the objects that Ignite stores. */
final class SingleValues {
  /** Characters of a value in an error. */
  private static final int MAX_SHOWN = 100;

  private SingleValues() {}

  interface Get {
    Object value(int row) throws MismatchException;
  }

  static Get of(FieldVector vector) {
    Field field = LoadableTypes.plain(vector.getField());
    ArrowType type = field.getType();
    Optional<ElementType> number = ElementType.of(type);
    if (number.isPresent()) {
      ElementType element = number.get();
      return row -> element.getValue.get(vector.getDataBuffer(), (long) row * element.width);
    }
    if (vector instanceof BitVector) {
      return row -> ((BitVector) vector).get(row) != 0;
    }
    if (vector instanceof Float2Vector) {
      return ((Float2Vector) vector)::getValueAsFloat;
    }
    if (type instanceof ArrowType.Utf8) {
      return text((VariableWidthFieldVector) vector, field);
    }
    if (vector instanceof TimeStampVector) {
      return instant((TimeStampVector) vector, ((ArrowType.Timestamp) type).getUnit());
    }
    if (vector instanceof DateDayVector) {
      return row -> Temporals.date((long) ((DateDayVector) vector).get(row));
    }
    if (vector instanceof DateMilliVector) {
      return row -> Temporals.date(Math.floorDiv(((DateMilliVector) vector).get(row), 86_400_000L));
    }
    if (type instanceof ArrowType.Time) {
      return time(vector, (ArrowType.Time) type);
    }
    // Bytes and decimals: Ignite stores the same classes as Arrow.
    return vector::getObject;
  }

  private static Get text(VariableWidthFieldVector vector, Field field) {
    Get text = row -> text(vector.get(row));
    if (LogicalType.UUID.matches(field)) {
      return parsed(text, UUID::fromString, "UUID");
    }
    return LogicalType.DECIMAL.matches(field)
        ? parsed(text, Decimals::parse, "decimal number")
        : text;
  }

  private static String text(byte[] utf8) throws MismatchException {
    String text = new String(utf8, StandardCharsets.UTF_8);
    // Java puts this character in the place of bytes that are no text.
    if (text.indexOf('\uFFFD') >= 0
        && !Arrays.equals(text.getBytes(StandardCharsets.UTF_8), utf8)) {
      throw new MismatchException(
          "is \""
              + shortened(text)
              + "\", whose bytes are not UTF-8 (schema= with binary loads them)");
    }
    return text;
  }

  private interface Parser {
    Object parse(String text) throws MismatchException;
  }

  private static Get parsed(Get text, Parser parser, String type) {
    return row -> {
      String value = (String) text.value(row);
      try {
        return parser.parse(value);
      } catch (IllegalArgumentException malformed) {
        throw new MismatchException("is \"" + shortened(value) + "\", which is not a " + type);
      }
    };
  }

  private static String shortened(String text) {
    return text.length() <= MAX_SHOWN ? text : text.substring(0, MAX_SHOWN) + "...";
  }

  private static Get instant(TimeStampVector vector, TimeUnit unit) {
    boolean fine = unit == TimeUnit.MICROSECOND || unit == TimeUnit.NANOSECOND;
    return fine
        ? row -> Temporals.timestamp(vector.get(row), unit)
        : row -> Temporals.instant(vector.get(row), unit);
  }

  private static Get time(FieldVector vector, ArrowType.Time type) {
    TimeUnit unit = type.getUnit();
    return type.getBitWidth() == Integer.SIZE
        ? row -> Temporals.time(vector.getDataBuffer().getInt((long) row * Integer.BYTES), unit)
        : row -> Temporals.time(vector.getDataBuffer().getLong((long) row * Long.BYTES), unit);
  }
}
