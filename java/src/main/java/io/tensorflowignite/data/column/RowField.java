package io.tensorflowignite.data.column;

import org.apache.ignite.binary.BinaryField;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;

/**
 * Gets a column's value from a row: a key and a value, kept binary. A row that was removed has the
 * value null, and so have its fields. Not thread-safe.
 */
public interface RowField {
  /** The name of the only column of a cache whose values are not objects. */
  String VALUE = "value";

  Object of(Object key, Object value) throws MismatchException;

  static RowField key() {
    return (key, value) -> key;
  }

  static RowField value() {
    return (key, value) -> value;
  }

  /** A field of the key or of the value. */
  static RowField of(String name, boolean inKey) {
    ObjectField field = new ObjectField(name);
    return (key, value) -> inKey || value != null ? field.of(inKey ? key : value) : null;
  }

  /** A field of an object inside a field: "address.city". */
  static RowField ofPath(String path, boolean inKey) {
    int dot = path.indexOf('.');
    if (dot < 0) {
      return of(path, inKey);
    }
    ObjectField outer = new ObjectField(path.substring(0, dot));
    RowField inner = ofPath(path.substring(dot + 1), false);
    return (key, value) -> {
      boolean isPresent = inKey || value != null;
      Object object = isPresent ? outer.of(inKey ? key : value) : null;
      return object == null ? null : inner.of(null, object);
    };
  }

  /** A field of values that are objects; the value itself if it is none and the name is VALUE. */
  static RowField ofAnyValue(String name) {
    if (!name.equals(VALUE)) {
      return of(name, false);
    }
    return new RowField() {
      private final ObjectField field = new ObjectField(name);
      private Class<?> last;
      private boolean object;

      @Override
      public Object of(Object key, Object value) throws MismatchException {
        if (value == null) {
          return null;
        }
        if (value.getClass() != last) {
          last = value.getClass();
          object = value instanceof BinaryObject && !LogicalType.isEnum(value);
        }
        return object ? field.of(value) : value;
      }
    };
  }

  /** A field of binary objects: found by position while all objects have one type, then by name. */
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
