package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.LogicalType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** Arrow types that a load accepts, and that are only other layouts of types that are read. */
public final class LoadableTypes {
  private LoadableTypes() {}

  /** The field with the types in which its rows are read: 32-bit offsets instead of 64-bit ones. */
  public static Field plain(Field field) {
    List<Field> children = new ArrayList<>();
    field.getChildren().forEach(child -> children.add(plain(child)));
    FieldType old = field.getFieldType();
    // A loaded ordinal of an enum is stored as a plain number.
    Map<String, String> metadata =
        LogicalType.ENUM.matches(field) ? Collections.emptyMap() : old.getMetadata();
    FieldType type =
        new FieldType(old.isNullable(), plain(field.getType()), old.getDictionary(), metadata);
    return new Field(field.getName(), type, children);
  }

  private static ArrowType plain(ArrowType type) {
    if (type instanceof ArrowType.LargeUtf8) {
      return ArrowType.Utf8.INSTANCE;
    }
    if (type instanceof ArrowType.LargeBinary) {
      return ArrowType.Binary.INSTANCE;
    }
    return type instanceof ArrowType.LargeList ? ArrowType.List.INSTANCE : type;
  }
}
