package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.LogicalType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** Which Arrow types a stored value can be converted to: see the table in ColumnTypes. */
final class Conversions {
  private Conversions() {}

  /** Whether every value of the stored type can be converted to the requested type. */
  static boolean fit(Field stored, Field requested) {
    ArrowType from = stored.getType();
    ArrowType to = requested.getType();
    if (from instanceof ArrowType.Null) {
      return true;
    }
    if (isList(to)) {
      Field leaf = leaf(requested);
      if (from instanceof ArrowType.Binary) {
        return leaf.getType() instanceof ArrowType.Int && bits(leaf.getType()) == 8;
      }
      return isList(from)
          && (fit(child(stored), child(requested))
              || !isList(leaf(stored).getType()) && fit(leaf(stored), leaf));
    }
    if (to instanceof ArrowType.Struct) {
      return from instanceof ArrowType.Struct && fieldsFit(stored, requested);
    }
    if (to instanceof ArrowType.Map) {
      return from instanceof ArrowType.Map && fieldsFitInOrder(child(stored), child(requested));
    }
    return from.equals(to) || single(stored, to);
  }

  /** Whether the types are equal, without regard to nullability and metadata. */
  static boolean same(Field stored, Field requested) {
    List<Field> one = stored.getChildren();
    List<Field> other = requested.getChildren();
    if (!stored.getType().equals(requested.getType()) || one.size() != other.size()) {
      return false;
    }
    boolean struct = stored.getType() instanceof ArrowType.Struct;
    for (int i = 0; i < one.size(); i++) {
      boolean named = !struct || one.get(i).getName().equals(other.get(i).getName());
      if (!named || !same(one.get(i), other.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** The requested field, which has the stored field's type, with the stored field's metadata. */
  static Field withMetadataOf(Field stored, Field requested) {
    List<Field> children = new ArrayList<>();
    for (int i = 0; i < requested.getChildren().size(); i++) {
      children.add(withMetadataOf(stored.getChildren().get(i), requested.getChildren().get(i)));
    }
    Map<String, String> metadata = new HashMap<>(requested.getMetadata());
    metadata.remove(RequestedTypes.EXACT);
    metadata.putAll(stored.getMetadata());
    Field marked = ColumnType.withMetadata(requested, metadata);
    return new Field(requested.getName(), marked.getFieldType(), children);
  }

  static String describe(Field field) {
    if (field.getType() instanceof ArrowType.Null) {
      return "not known";
    }
    String type = field.getType().toString();
    return field.getChildren().isEmpty()
        ? type
        : field.getChildren().stream()
            .map(child -> child.getName() + ": " + describe(child))
            .collect(Collectors.joining(", ", type + "<", ">"));
  }

  private static boolean single(Field stored, ArrowType to) {
    ArrowType from = stored.getType();
    boolean decimal = from instanceof ArrowType.Decimal || LogicalType.DECIMAL.matches(stored);
    boolean character = from.equals(ElementType.CHAR.arrow);
    boolean integer = from instanceof ArrowType.Int;
    if (to instanceof ArrowType.Int) {
      return toInteger(stored, to);
    }
    if (to instanceof ArrowType.FloatingPoint) {
      return integer
          || decimal
          || from instanceof ArrowType.FloatingPoint
          || from instanceof ArrowType.Bool;
    }
    if (to instanceof ArrowType.Decimal) {
      return decimal || integer && !character && !LogicalType.ENUM.matches(stored);
    }
    boolean written = decimal || character || LogicalType.ENUM.matches(stored);
    if (to instanceof ArrowType.Utf8) {
      return written;
    }
    if (to instanceof ArrowType.Binary) {
      return written || from instanceof ArrowType.Utf8 || from instanceof ArrowType.FixedSizeBinary;
    }
    if (to instanceof ArrowType.FixedSizeBinary) {
      int width = ((ArrowType.FixedSizeBinary) to).getByteWidth();
      return from instanceof ArrowType.Binary || LogicalType.UUID.matches(stored) && width == 16;
    }
    // A day and a time of day are no instants: those would depend on the time zone.
    return to instanceof ArrowType.Timestamp && from instanceof ArrowType.Timestamp
        || to instanceof ArrowType.Date && from instanceof ArrowType.Date
        || to instanceof ArrowType.Time && from instanceof ArrowType.Time;
  }

  private static boolean toInteger(Field stored, ArrowType to) {
    ArrowType from = stored.getType();
    int bits = bits(to);
    if (from instanceof ArrowType.Bool || LogicalType.ENUM.matches(stored)) {
      return true;
    }
    if (from instanceof ArrowType.Timestamp) {
      TimeUnit unit = ((ArrowType.Timestamp) from).getUnit();
      return (unit == TimeUnit.MILLISECOND || unit == TimeUnit.NANOSECOND)
          && to.equals(ElementType.INT64.arrow);
    }
    boolean signed = ((ArrowType.Int) to).getIsSigned();
    if (from instanceof ArrowType.Date || from instanceof ArrowType.Time) {
      return signed && bits >= 32;
    }
    Optional<ElementType> narrow = ElementType.of(from);
    Optional<ElementType> wide = ElementType.of(to);
    return from instanceof ArrowType.Int
        && narrow.isPresent()
        && wide.isPresent()
        && narrow.get().min() >= wide.get().min()
        && narrow.get().max() <= wide.get().max();
  }

  private static boolean fieldsFit(Field stored, Field requested) {
    Map<String, Field> known = new HashMap<>();
    stored.getChildren().forEach(child -> known.put(child.getName(), child));
    return requested.getChildren().stream()
        .allMatch(
            child -> known.containsKey(child.getName()) && fit(known.get(child.getName()), child));
  }

  private static boolean fieldsFitInOrder(Field stored, Field requested) {
    return fit(stored.getChildren().get(0), requested.getChildren().get(0))
        && fit(stored.getChildren().get(1), requested.getChildren().get(1));
  }

  private static boolean isList(ArrowType type) {
    return type instanceof ArrowType.List || type instanceof ArrowType.FixedSizeList;
  }

  /** The elements of a list and of the fixed lists inside it, which may be stored flat. */
  private static Field leaf(Field list) {
    return ColumnType.innermost(child(list));
  }

  private static Field child(Field list) {
    return list.getChildren().get(0);
  }

  private static int bits(ArrowType integer) {
    return ((ArrowType.Int) integer).getBitWidth();
  }
}
