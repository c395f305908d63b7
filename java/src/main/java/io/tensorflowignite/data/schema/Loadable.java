package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.Marks;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** Arrow types that are only other layouts of those that are read. */
public final class Loadable {
  private Loadable() {}

  /** The field with the types in which its rows are read: without 64-bit offsets. */
  public static Field plain(Field field) {
    List<Field> children = new ArrayList<>();
    field.getChildren().forEach(child -> children.add(plain(child)));
    FieldType was = field.getFieldType();
    // A number that is loaded is a number, whatever it once counted.
    Map<String, String> metadata =
        Marks.ENUM.marks(field) ? Collections.emptyMap() : was.getMetadata();
    FieldType type =
        new FieldType(was.isNullable(), plain(field.getType()), was.getDictionary(), metadata);
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
