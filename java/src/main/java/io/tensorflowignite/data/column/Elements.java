package io.tensorflowignite.data.column;

import java.lang.reflect.Array;
import java.util.Collection;

/** What Ignite stores as a list: an array of primitives or of objects, or a collection. */
final class Elements {
  private Elements() {}

  /** Adds the elements to the column of a list's items. */
  static void add(Object list, Column items) throws MismatchException {
    if (list instanceof Object[]) {
      int position = 0;
      for (Object element : (Object[]) list) {
        add(element, items, position++);
      }
    } else if (list instanceof Collection) {
      int position = 0;
      for (Object element : (Collection<?>) list) {
        add(element, items, position++);
      }
    } else if (list.getClass().isArray()) {
      items.putAll(list);
    } else {
      throw MismatchException.otherClass(list, "a list");
    }
  }

  static int count(Object list) throws MismatchException {
    if (list instanceof Collection) {
      return ((Collection<?>) list).size();
    }
    if (list.getClass().isArray()) {
      return Array.getLength(list);
    }
    throw MismatchException.otherClass(list, "a list");
  }

  /** Whether none of the elements is a list itself. */
  static boolean isFlat(Object list) {
    if (list instanceof Object[]) {
      for (Object element : (Object[]) list) {
        if (isList(element)) {
          return false;
        }
      }
    } else if (list instanceof Collection) {
      for (Object element : (Collection<?>) list) {
        if (isList(element)) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean isList(Object value) {
    return value instanceof Collection || value != null && value.getClass().isArray();
  }

  private static void add(Object element, Column items, int position) throws MismatchException {
    try {
      items.append(element);
    } catch (MismatchException mismatch) {
      throw mismatch.at(position);
    }
  }
}
