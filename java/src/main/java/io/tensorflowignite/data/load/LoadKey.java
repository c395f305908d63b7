package io.tensorflowignite.data.load;

import io.tensorflowignite.data.schema.StoredTypes;
import java.util.List;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * The keys of loaded rows: counted numbers, the values of one column, or objects: of two columns,
 * of which the second determines the partition, or of one column of structs.
 */
final class LoadKey {
  /** The columns of the keys; empty if keys are counted. */
  final List<Field> columns;

  /**
   * @param columns the columns of the keys: at most two
   */
  LoadKey(List<Field> columns) {
    this.columns = columns;
  }

  boolean isCounted() {
    return columns.isEmpty();
  }

  boolean isObject() {
    return columns.size() == 2 || isStruct();
  }

  /** Whether keys are objects that arrive in one column. */
  boolean isStruct() {
    return columns.size() == 1 && columns.get(0).getType() instanceof ArrowType.Struct;
  }

  /** The fields of the keys if these are objects, otherwise their column; empty if counted. */
  List<Field> fields() {
    return isStruct() ? columns.get(0).getChildren() : columns;
  }

  /** Class of a key in Ignite; if keys are objects, of their first field. */
  Class<?> storage() {
    return isCounted() ? Long.class : StoredTypes.require(fields().get(0)).storage;
  }
}
