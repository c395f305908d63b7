package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.Marks;
import java.math.BigDecimal;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** How Ignite keeps the values of an Arrow type: the half of the table of types that loads. */
public final class StoredTypes {
  private StoredTypes() {}

  /** Empty when values of this type cannot be kept. */
  public static Optional<ColumnType> of(Field field) {
    return Columns.exist(Loadable.plain(field))
        ? storage(Loadable.plain(field)).map(storage -> type(storage, Loadable.plain(field)))
        : Optional.empty();
  }

  private static ColumnType type(Class<?> storage, Field shape) {
    String name = ColumnTypes.ofClass(storage).map(ColumnType::binaryName).orElse("Object");
    // Ignite's metadata do not know java.sql's dates.
    return new ColumnType(storage, storage == java.sql.Date.class ? "Object" : name, shape);
  }

  private static Optional<Class<?>> storage(Field field) {
    ArrowType type = field.getType();
    if (type instanceof ArrowType.Struct) {
      return all(field) ? Optional.of(Object.class) : Optional.empty();
    }
    if (type instanceof ArrowType.Map) {
      return all(field.getChildren().get(0)) ? Optional.of(Map.class) : Optional.empty();
    }
    if (type instanceof ArrowType.List || type instanceof ArrowType.FixedSizeList) {
      return all(field) ? Optional.of(array(leaf(field))) : Optional.empty();
    }
    return Optional.ofNullable(single(field));
  }

  private static boolean all(Field nested) {
    return nested.getChildren().stream().allMatch(child -> storage(child).isPresent());
  }

  /**
   * The field of a stored array's elements: nested fixed lists are kept flat, and so is a list of
   * them.
   */
  public static Field leaf(Field list) {
    Field at = list.getChildren().get(0);
    while (at.getType() instanceof ArrowType.FixedSizeList) {
      at = at.getChildren().get(0);
    }
    boolean flat =
        at.getType() instanceof ArrowType.Bool || ElementType.of(at.getType()).isPresent();
    return flat ? at : list.getChildren().get(0);
  }

  /** The class of an array of such elements. */
  public static Class<?> array(Field element) {
    Optional<ElementType> number = ElementType.of(element.getType());
    if (number.isPresent()) {
      return number.get() == ElementType.UINT32 ? long[].class : number.get().array;
    }
    Class<?> single = single(element);
    if (single == Boolean.class) {
      return boolean[].class;
    }
    if (single == String.class) {
      return String[].class;
    }
    if (single == UUID.class) {
      return UUID[].class;
    }
    if (single == BigDecimal.class) {
      return BigDecimal[].class;
    }
    if (single == Timestamp.class) {
      return Timestamp[].class;
    }
    if (single == Date.class) {
      return Date[].class;
    }
    return single == Time.class ? Time[].class : Object[].class;
  }

  private static Class<?> single(Field field) {
    ArrowType type = field.getType();
    Optional<ElementType> number = ElementType.of(type);
    if (number.isPresent()) {
      return number.get().single;
    }
    if (type instanceof ArrowType.Bool) {
      return Boolean.class;
    }
    if (type instanceof ArrowType.FloatingPoint) {
      return Float.class;
    }
    if (type instanceof ArrowType.Utf8) {
      Class<?> marked = Marks.DECIMAL.marks(field) ? BigDecimal.class : String.class;
      return Marks.UUID.marks(field) ? UUID.class : marked;
    }
    if (type instanceof ArrowType.Binary || type instanceof ArrowType.FixedSizeBinary) {
      return byte[].class;
    }
    if (type instanceof ArrowType.Timestamp) {
      TimeUnit unit = ((ArrowType.Timestamp) type).getUnit();
      boolean fine = unit == TimeUnit.MICROSECOND || unit == TimeUnit.NANOSECOND;
      return fine ? Timestamp.class : Date.class;
    }
    if (type instanceof ArrowType.Date) {
      return java.sql.Date.class;
    }
    if (type instanceof ArrowType.Time) {
      return Time.class;
    }
    return type instanceof ArrowType.Decimal ? BigDecimal.class : null;
  }
}
