package io.tensorflowignite.data.sql;

import java.sql.Timestamp;
import java.util.Date;
import java.util.function.UnaryOperator;
import org.apache.ignite.cache.QueryEntity;

/** Converts keys and values to their stored class: SQL returns some classes as others. */
final class SqlValueConversion {
  private final UnaryOperator<Object> key;
  private final UnaryOperator<Object> value;

  SqlValueConversion(QueryEntity entity) {
    key = of(entity.findKeyType());
    value = of(entity.findValueType());
  }

  Object key(Object fromSql) {
    return key.apply(fromSql);
  }

  Object value(Object fromSql) {
    return value.apply(fromSql);
  }

  private static UnaryOperator<Object> of(String type) {
    if (Date.class.getName().equals(type)) {
      return value -> value instanceof Timestamp ? new Date(((Timestamp) value).getTime()) : value;
    }
    if (Character.class.getName().equals(type)) {
      return value -> value instanceof String ? (Object) ((String) value).charAt(0) : value;
    }
    return UnaryOperator.identity();
  }
}
