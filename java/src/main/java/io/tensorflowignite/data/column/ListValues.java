package io.tensorflowignite.data.column;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Collection;

/** Values that Ignite stores as a list: arrays of primitives or objects, and collections. */
final class ListValues {
  private ListValues() {}

  /** Adds the elements to the column of a list's items. */
  static void add(Object list, Column items) throws MismatchException {
    if (list instanceof Object[]) {
      addAll(Arrays.asList((Object[]) list), items);
    } else if (list instanceof Collection) {
      addAll((Collection<?>) list, items);
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
      return Arrays.stream((Object[]) list).noneMatch(ListValues::isList);
    }
    return !(list instanceof Collection)
        || ((Collection<?>) list).stream().noneMatch(ListValues::isList);
  }

  private static boolean isList(Object value) {
    return value instanceof Collection || value != null && value.getClass().isArray();
  }

  private static void addAll(Iterable<?> elements, Column items) throws MismatchException {
    int position = 0;
    for (Object element : elements) {
      try {
        items.append(element);
      } catch (MismatchException mismatch) {
        throw mismatch.at(position);
      }
      position++;
    }
  }
}
