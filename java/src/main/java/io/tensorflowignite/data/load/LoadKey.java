package io.tensorflowignite.data.load;

import io.tensorflowignite.data.schema.StoredTypes;
import java.util.List;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * The keys of loaded rows: counted numbers, the values of one column, or objects of two columns, of
 * which the second determines the partition.
 */
final class LoadKey {
  private final List<Field> fields;

  /**
   * @param fields the columns of the keys: at most two
   */
  LoadKey(List<Field> fields) {
    this.fields = fields;
  }

  boolean isCounted() {
    return fields.isEmpty();
  }

  boolean isObject() {
    return fields.size() == 2;
  }

  /** The columns of the keys; empty if keys are counted. */
  List<Field> fields() {
    return fields;
  }

  /** Class of a key in Ignite; if keys are objects, of their first field. */
  Class<?> storage() {
    return isCounted() ? Long.class : StoredTypes.require(fields.get(0)).storage();
  }
}
