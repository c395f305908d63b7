package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.Enums;
import io.tensorflowignite.data.column.Marks;
import io.tensorflowignite.data.column.MismatchException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryType;

/** The type that values show which have been looked at: grows with each, and must not change. */
final class SeenType {
  private static final int MAX_DEPTH = 32;

  private final int depth;
  private String kind;
  private Field leaf;
  private List<String> names;
  private SeenType key;
  private SeenType item;
  private final Map<String, SeenType> fields = new LinkedHashMap<>();

  SeenType() {
    this(0);
  }

  private SeenType(int depth) {
    this.depth = depth;
  }

  /**
   * @throws MismatchException the value is of no type that can be read, or of another one than
   *     those before
   */
  void see(Object value) throws MismatchException {
    if (value == null) {
      return;
    }
    if (depth > MAX_DEPTH) {
      throw new MismatchException("is nested deeper than " + MAX_DEPTH);
    }
    Optional<ColumnType> known =
        ColumnTypes.ofClass(value.getClass()).filter(type -> CacheColumn.isKnown(type.shape()));
    if (known.isPresent()) {
      see(known.get().shape(), value.getClass().getSimpleName());
    } else if (value instanceof Object[]) {
      seeAll(Arrays.asList((Object[]) value));
    } else if (value instanceof Collection) {
      seeAll((Collection<?>) value);
    } else if (value instanceof Map) {
      seeMap((Map<?, ?>) value);
    } else if (Enums.isValue(value)) {
      seeEnum(((BinaryObject) value).type());
    } else if (value instanceof BinaryObject) {
      seeObject((BinaryObject) value);
    } else {
      throw new MismatchException(
          "holds values of class " + value.getClass().getName() + ", which cannot be read");
    }
  }

  /** What was seen; Arrow's null where nothing was. */
  Field field() {
    if (kind == null) {
      return ColumnType.unknown();
    }
    switch (kind) {
      case "lists":
        return ColumnType.listOf(item.field());
      case "maps":
        return ColumnType.mapOf(key.field(), item.field());
      case "enums":
        return Marks.enumOf(names);
      case "objects":
        List<Field> children = new ArrayList<>();
        fields.forEach((name, type) -> children.add(ColumnType.named(name, type.field())));
        return children.isEmpty() ? ColumnType.unknown() : ColumnType.struct(null, children);
      default:
        return leaf;
    }
  }

  private void see(Field shape, String name) throws MismatchException {
    if (shape.getType() instanceof ArrowType.List) {
      become("lists");
      item = item == null ? new SeenType(depth + 1) : item;
      item.see(shape.getChildren().get(0), name.replace("[]", ""));
    } else {
      become(name);
      leaf = shape;
    }
  }

  private void seeAll(Collection<?> values) throws MismatchException {
    become("lists");
    item = item == null ? new SeenType(depth + 1) : item;
    int position = 0;
    for (Object value : values) {
      try {
        item.see(value);
      } catch (MismatchException mismatch) {
        throw mismatch.at(position);
      }
      position++;
    }
  }

  private void seeMap(Map<?, ?> map) throws MismatchException {
    become("maps");
    key = key == null ? new SeenType(depth + 1) : key;
    item = item == null ? new SeenType(depth + 1) : item;
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      key.see(entry.getKey());
      item.see(entry.getValue());
    }
  }

  private void seeEnum(BinaryType type) throws MismatchException {
    become("enums");
    List<String> told = Enums.names(type);
    // Of several enums, the names of none fit.
    names = names == null || names.equals(told) ? told : List.of();
  }

  private void seeObject(BinaryObject object) throws MismatchException {
    become("objects");
    BinaryType type = object.type();
    for (String name : type.fieldNames()) {
      SeenType field = fields.computeIfAbsent(name, added -> new SeenType(depth + 1));
      ColumnType told = ColumnTypes.ofAnyName(type.fieldTypeName(name));
      try {
        if (CacheColumn.isKnown(told.shape()) && !Marks.ENUM.marks(told.shape())) {
          field.see(told.shape(), told.storage().getSimpleName());
        } else {
          field.see(object.<Object>field(name));
        }
      } catch (MismatchException mismatch) {
        throw mismatch.inField(name);
      }
    }
  }

  private void become(String other) throws MismatchException {
    if (kind != null && !kind.equals(other)) {
      throw new MismatchException("holds values of types " + kind + " and " + other);
    }
    kind = other;
  }
}
