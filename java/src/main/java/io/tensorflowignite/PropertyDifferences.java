package io.tensorflowignite;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The groups of properties in which two beans differ. */
final class PropertyDifferences {
  private static final String OURS = PropertyDifferences.class.getPackageName() + ".";

  private PropertyDifferences() {}

  static List<String> of(TensorFlowService one, TensorFlowService other) {
    List<String> groups = new ArrayList<>();
    for (Field group : properties(TensorFlowService.class)) {
      if (!areEqual(value(group, one), value(group, other))) {
        groups.add(group.getName());
      }
    }
    return groups;
  }

  private static boolean areEqual(Object one, Object other) {
    if (one == null || other == null || !isOurs(one.getClass())) {
      return Objects.deepEquals(one, other);
    }
    return properties(one.getClass()).stream()
        .allMatch(field -> areEqual(value(field, one), value(field, other)));
  }

  private static boolean isOurs(Class<?> type) {
    return type.getName().startsWith(OURS) && !type.isEnum();
  }

  private static List<Field> properties(Class<?> type) {
    List<Field> found = new ArrayList<>();
    for (Field field : type.getDeclaredFields()) {
      if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isTransient(field.getModifiers())) {
        found.add(field);
      }
    }
    return found;
  }

  private static Object value(Field field, Object of) {
    try {
      field.setAccessible(true);
      return field.get(of);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }
}
