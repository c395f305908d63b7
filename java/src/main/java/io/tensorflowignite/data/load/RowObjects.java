package io.tensorflowignite.data.load;

import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.schema.CacheSchema;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.IgniteBinary;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;

/** Creates keys and objects from the rows of one batch. Not thread-safe. */
final class RowObjects {
  private final LoadPlan plan;
  private final String[] keyNames;
  private final VectorValues[] keys;
  private final String[] names;
  private final VectorValues[] values;

  /** Makes all keys, as the next one makes all values: making a builder takes time for each row. */
  private final BinaryObjectBuilder keyObject;

  private final BinaryObjectBuilder valueObject;
  private String column = CacheSchema.KEY;

  RowObjects(IgniteBinary binary, LoadPlan plan, LoadTarget target, VectorSchemaRoot batch) {
    this.plan = plan;
    keyObject = plan.key.isObject() ? binary.builder(target.keyType) : null;
    valueObject = binary.builder(target.valueType);
    VectorValues.Objects nested = path -> binary.builder(target.nestedType(path));
    keyNames = names(plan.key.isObject() ? target.keyFields : plan.key.fields());
    keys =
        plan.key.isStruct()
            ? values(keyNames, batch.getVector(CacheSchema.KEY).getChildrenFromFields(), nested)
            : values(keyNames, batch.getFieldVectors(), nested);
    names = names(plan.fields);
    values = values(names, batch.getFieldVectors(), nested);
  }

  /**
   * @param number the row's number in its load
   */
  Object key(int row, long number) throws MismatchException {
    if (plan.key.isCounted()) {
      return plan.command.getFirstKey() + number;
    }
    if (!plan.key.isObject()) {
      return keyPart(0, row);
    }
    for (int i = 0; i < keys.length; i++) {
      keyObject.setField(keyNames[i], keyPart(i, row));
    }
    return keyObject.build();
  }

  BinaryObject value(int row) throws MismatchException {
    for (int i = 0; i < names.length; i++) {
      column = names[i];
      Object value = values[i].get(row);
      // A field that an object lacks is null, also in SQL.
      if (value == null) {
        valueObject.removeField(column);
      } else {
        valueObject.setField(column, value);
      }
    }
    return valueObject.build();
  }

  /** The column that was read last. */
  String column() {
    return column;
  }

  private Object keyPart(int part, int row) throws MismatchException {
    column = keyNames[part];
    Object value = keys[part].get(row);
    if (value == null) {
      throw new MismatchException("is null, but part of the key");
    }
    return value;
  }

  private static String[] names(List<Field> fields) {
    return fields.stream().map(Field::getName).toArray(String[]::new);
  }

  private static VectorValues[] values(
      String[] names, List<FieldVector> among, VectorValues.Objects nested) {
    // VectorSchemaRoot looks a vector up by comparing all names.
    Map<String, FieldVector> vectors = new HashMap<>();
    among.forEach(vector -> vectors.put(vector.getName(), vector));
    VectorValues[] values = new VectorValues[names.length];
    for (int i = 0; i < names.length; i++) {
      values[i] = VectorValues.of(vectors.get(names[i]), nested);
    }
    return values;
  }
}
