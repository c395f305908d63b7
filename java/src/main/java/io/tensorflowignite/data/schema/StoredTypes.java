package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.LogicalType;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** How Ignite stores the values of an Arrow type: the half of the table of types for loads. */
public final class StoredTypes {
  /**
   * Classes whose arrays Ignite stores as arrays of the class; it stores other arrays as Object[].
   */
  private static final Set<Class<?>> WITH_ARRAYS =
      Set.of(String.class, UUID.class, BigDecimal.class, Timestamp.class, Date.class, Time.class);

  private StoredTypes() {}

  /** The type of a column that is loaded, or of a stored schema; empty if it is not supported. */
  public static Optional<ColumnType> of(Field field) {
    Field plain = LoadableTypes.plain(field);
    return Columns.areSupported(plain)
        ? storage(plain).map(storage -> type(storage, plain))
        : Optional.empty();
  }

  /** The type of a field that is known to be supported. */
  public static ColumnType require(Field field) {
    return of(field).orElseThrow();
  }

  private static ColumnType type(Class<?> storage, Field shape) {
    String name = ColumnTypes.ofClass(storage).map(type -> type.binaryName).orElse("Object");
    // Ignite's metadata have no name for java.sql.Date.
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

  /** The field of a stored array's elements: numbers in nested fixed lists are stored flat. */
  public static Field leaf(Field list) {
    Field inner = ColumnType.innermost(list.getChildren().get(0));
    boolean flat =
        inner.getType() instanceof ArrowType.Bool || ElementType.of(inner.getType()).isPresent();
    return flat ? inner : list.getChildren().get(0);
  }

  /** The class of an array with elements of a field's type. */
  public static Class<?> array(Field element) {
    Optional<ElementType> number = ElementType.of(element.getType());
    if (number.isPresent()) {
      return number.get() == ElementType.UINT32 ? long[].class : number.get().array;
    }
    Class<?> single = single(element);
    if (single == Boolean.class) {
      return boolean[].class;
    }
    return single != null && WITH_ARRAYS.contains(single)
        ? Array.newInstance(single, 0).getClass()
        : Object[].class;
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
      Class<?> text = LogicalType.DECIMAL.matches(field) ? BigDecimal.class : String.class;
      return LogicalType.UUID.matches(field) ? UUID.class : text;
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
