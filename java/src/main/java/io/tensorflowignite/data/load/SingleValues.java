package io.tensorflowignite.data.load;

import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.Marks;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.Temporals;
import io.tensorflowignite.data.schema.Loadable;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DateMilliVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float2Vector;
import org.apache.arrow.vector.TimeMicroVector;
import org.apache.arrow.vector.TimeMilliVector;
import org.apache.arrow.vector.TimeNanoVector;
import org.apache.arrow.vector.TimeSecVector;
import org.apache.arrow.vector.TimeStampVector;
import org.apache.arrow.vector.VariableWidthFieldVector;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** The values of vectors that are not nested, as the objects that Ignite stores. */
final class SingleValues {
  private SingleValues() {}

  interface Get {
    Object value(int row) throws MismatchException;
  }

  static Get of(FieldVector vector) {
    Field field = Loadable.plain(vector.getField());
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
      return time(vector);
    }
    // Bytes and decimals: Arrow's own objects are those of Ignite.
    return vector::getObject;
  }

  private static Get text(VariableWidthFieldVector vector, Field field) {
    Get text = row -> new String(vector.get(row), StandardCharsets.UTF_8);
    if (Marks.UUID.marks(field)) {
      return row -> {
        String id = (String) text.value(row);
        try {
          return UUID.fromString(id);
        } catch (IllegalArgumentException malformed) {
          throw new MismatchException("is \"" + id + "\", which is no UUID");
        }
      };
    }
    if (Marks.DECIMAL.marks(field)) {
      return row -> {
        String number = (String) text.value(row);
        try {
          return new BigDecimal(number);
        } catch (NumberFormatException malformed) {
          throw new MismatchException("is \"" + number + "\", which is no decimal number");
        }
      };
    }
    return text;
  }

  private static Get instant(TimeStampVector vector, TimeUnit unit) {
    boolean fine = unit == TimeUnit.MICROSECOND || unit == TimeUnit.NANOSECOND;
    return fine
        ? row -> Temporals.timestamp(vector.get(row), unit)
        : row -> Temporals.instant(vector.get(row), unit);
  }

  private static Get time(FieldVector vector) {
    if (vector instanceof TimeSecVector) {
      return row -> Temporals.time(((TimeSecVector) vector).get(row), TimeUnit.SECOND);
    }
    if (vector instanceof TimeMilliVector) {
      return row -> Temporals.time(((TimeMilliVector) vector).get(row), TimeUnit.MILLISECOND);
    }
    if (vector instanceof TimeMicroVector) {
      return row -> Temporals.time(((TimeMicroVector) vector).get(row), TimeUnit.MICROSECOND);
    }
    return row -> Temporals.time(((TimeNanoVector) vector).get(row), TimeUnit.NANOSECOND);
  }
}
