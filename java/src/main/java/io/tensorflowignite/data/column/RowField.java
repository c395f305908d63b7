package io.tensorflowignite.data.column;

import org.apache.ignite.binary.BinaryField;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;

/** Where in a row (a key and a value, kept binary) a column's value stands. One thread uses it. */
public interface RowField {
  /** The name of the only column of a cache whose values are no objects. */
  String VALUE = "value";

  Object of(Object key, Object value) throws MismatchException;

  static RowField key() {
    return (key, value) -> key;
  }

  static RowField value() {
    return (key, value) -> value;
  }

  static RowField ofKey(String name) {
    ObjectField field = new ObjectField(name);
    return (key, value) -> field.of(key);
  }

  static RowField ofValue(String name) {
    ObjectField field = new ObjectField(name);
    return (key, value) -> field.of(value);
  }

  /** A field of an object inside of a field: "address.city". */
  static RowField ofPath(String path, boolean inKey) {
    int dot = path.indexOf('.');
    if (dot < 0) {
      return inKey ? ofKey(path) : ofValue(path);
    }
    ObjectField outer = new ObjectField(path.substring(0, dot));
    RowField inner = ofPath(path.substring(dot + 1), false);
    return (key, value) -> {
      Object object = outer.of(inKey ? key : value);
      return object == null ? null : inner.of(null, object);
    };
  }

  /** A field where values are objects; the value itself where they are not, and it is called so. */
  static RowField ofAnyValue(String name) {
    if (!name.equals(VALUE)) {
      return ofValue(name);
    }
    return new RowField() {
      private final ObjectField field = new ObjectField(name);
      private Class<?> last;
      private boolean object;

      @Override
      public Object of(Object key, Object value) throws MismatchException {
        if (value.getClass() != last) {
          last = value.getClass();
          object = value instanceof BinaryObject && !Enums.isValue(value);
        }
        return object ? field.of(value) : value;
      }
    };
  }

  /**
   * A field of binary objects: by position as long as all objects are of one type, by name after
   * that.
   */
  final class ObjectField {
    private final String name;
    private BinaryField field;
    private boolean severalTypes;

    ObjectField(String name) {
      this.name = name;
    }

    Object of(Object object) throws MismatchException {
      if (!(object instanceof BinaryObject)) {
        String found = object == null ? "null" : "a " + object.getClass().getSimpleName();
        throw new MismatchException("is a field of objects, and the row is " + found);
      }
      BinaryObject row = (BinaryObject) object;
      if (severalTypes) {
        return row.field(name);
      }
      if (field == null) {
        field = row.type().field(name);
      }
      try {
        return field.value(row);
      } catch (BinaryObjectException differs) {
        severalTypes = true;
        return row.field(name);
      }
    }
  }
}
