package io.tensorflowignite.data.sql;

import java.sql.Timestamp;
import java.util.Date;
import java.util.function.UnaryOperator;
import org.apache.ignite.cache.QueryEntity;

/**
 * Keys and values that are no objects as they are stored: SQL turns some of their classes into
 * others on the way.
 */
final class SqlStorage {
  private final UnaryOperator<Object> key;
  private final UnaryOperator<Object> value;

  SqlStorage(QueryEntity entity) {
    key = of(entity.findKeyType());
    value = of(entity.findValueType());
  }

  Object key(Object told) {
    return key.apply(told);
  }

  Object value(Object told) {
    return value.apply(told);
  }

  private static UnaryOperator<Object> of(String type) {
    if (Date.class.getName().equals(type)) {
      return told -> told instanceof Timestamp ? new Date(((Timestamp) told).getTime()) : told;
    }
    if (Character.class.getName().equals(type)) {
      return told -> told instanceof String ? (Object) ((String) told).charAt(0) : told;
    }
    return UnaryOperator.identity();
  }
}
