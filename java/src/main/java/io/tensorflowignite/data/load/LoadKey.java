package io.tensorflowignite.data.load;

import io.tensorflowignite.data.schema.ColumnType;
import java.util.List;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * What the keys of loaded rows are made of: numbers that are counted, the values of one column, or
 * objects of two columns, of which the second decides the partition.
 */
final class LoadKey {
  private final List<Field> fields;
  private final List<ColumnType> types;

  private LoadKey(List<Field> fields, List<ColumnType> types) {
    this.fields = fields;
    this.types = types;
  }

  static LoadKey counted() {
    return new LoadKey(List.of(), List.of());
  }

  static LoadKey of(Field field, ColumnType type) {
    return new LoadKey(List.of(field), List.of(type));
  }

  LoadKey with(Field affinity, ColumnType affinityType) {
    return new LoadKey(List.of(fields.get(0), affinity), List.of(types.get(0), affinityType));
  }

  boolean isCounted() {
    return fields.isEmpty();
  }

  boolean isObject() {
    return fields.size() == 2;
  }

  /** The columns that keys are made of. */
  List<Field> fields() {
    return fields;
  }

  /** Of the fields, in their order. */
  List<ColumnType> types() {
    return types;
  }

  /** Class of a key in Ignite; of an object's first field. */
  Class<?> storage() {
    return isCounted() ? Long.class : types.get(0).storage();
  }
}
