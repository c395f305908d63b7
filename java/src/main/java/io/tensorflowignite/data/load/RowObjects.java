package io.tensorflowignite.data.load;

import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.schema.CacheSchema;
import java.util.List;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.IgniteBinary;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;

/** Makes keys and objects of the rows of one batch. One thread uses it. */
final class RowObjects {
  private final IgniteBinary binary;
  private final LoadPlan plan;
  private final LoadTarget target;
  private final String[] keyNames;
  private final VectorValues[] keys;
  private final String[] names;
  private final VectorValues[] values;
  private String column = CacheSchema.KEY;

  RowObjects(IgniteBinary binary, LoadPlan plan, LoadTarget target, VectorSchemaRoot batch) {
    this.binary = binary;
    this.plan = plan;
    this.target = target;
    VectorValues.Objects nested = path -> binary.builder(target.nestedType(path));
    keyNames = names(plan.key().fields());
    keys = values(keyNames, batch, nested);
    names = names(plan.fields());
    values = values(names, batch, nested);
  }

  /**
   * @param number of the row in its load
   */
  Object key(int row, long number) throws MismatchException {
    if (plan.key().isCounted()) {
      return plan.command().getFirstKey() + number;
    }
    if (!plan.key().isObject()) {
      return keyPart(0, row);
    }
    BinaryObjectBuilder object = binary.builder(target.keyType());
    for (int i = 0; i < keys.length; i++) {
      object.setField(keyNames[i], keyPart(i, row));
    }
    return object.build();
  }

  BinaryObject value(int row) throws MismatchException {
    BinaryObjectBuilder object = binary.builder(target.valueType());
    for (int i = 0; i < names.length; i++) {
      column = names[i];
      Object value = values[i].get(row);
      // A field that an object lacks is null, to SQL as well.
      if (value != null) {
        object.setField(column, value);
      }
    }
    return object.build();
  }

  /** The column whose value was taken last. */
  String column() {
    return column;
  }

  private Object keyPart(int part, int row) throws MismatchException {
    column = keyNames[part];
    Object value = keys[part].get(row);
    if (value == null) {
      throw new MismatchException("is null, and part of the key");
    }
    return value;
  }

  private static String[] names(List<Field> fields) {
    return fields.stream().map(Field::getName).toArray(String[]::new);
  }

  private static VectorValues[] values(
      String[] names, VectorSchemaRoot batch, VectorValues.Objects nested) {
    VectorValues[] values = new VectorValues[names.length];
    for (int i = 0; i < names.length; i++) {
      values[i] = VectorValues.of(batch.getVector(names[i]), nested);
    }
    return values;
  }
}
