package io.tensorflowignite.data;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;

/** The columns of a cache. */
final class CacheSchema {
  /** The name of the column that holds the cache's keys. */
  static final String KEY = "_key";

  /** The name of the only column of a cache whose values are no objects. */
  static final String VALUE = "value";

  /** Metadata of a stored field that is a field of the key, which is an object. */
  private static final String IN_KEY = "tensorflow-ignite.key";

  private final String cache;
  private final Map<String, CacheColumn> columns = new LinkedHashMap<>();
  private final Map<String, CacheColumn> onRequest = new LinkedHashMap<>();
  private final boolean stored;
  private final Supplier<CacheColumn> key;

  /**
   * @param columns what is read when nothing is named
   * @param onRequest what else can be named
   * @param stored the schema is one that was stored at a load
   * @param key asked only when the key is wanted
   */
  CacheSchema(
      String cache,
      List<CacheColumn> columns,
      List<CacheColumn> onRequest,
      boolean stored,
      Supplier<CacheColumn> key) {
    this.cache = cache;
    columns.forEach(column -> this.columns.put(column.name(), column));
    onRequest.forEach(column -> this.onRequest.put(column.name(), column));
    this.stored = stored;
    this.key = key;
  }

  String cache() {
    return cache;
  }

  boolean stored() {
    return stored;
  }

  List<CacheColumn> columns() {
    return new ArrayList<>(columns.values());
  }

  CacheColumn key() {
    return supported(key.get());
  }

  /** The columns to read, the key first when it is asked for; every column when none is named. */
  List<CacheColumn> select(List<String> names, boolean withKey) {
    List<CacheColumn> selected = new ArrayList<>();
    if (withKey) {
      selected.add(key());
    }
    Set<String> seen = new HashSet<>();
    for (String name : names.isEmpty() ? columns.keySet() : names) {
      if (!seen.add(name)) {
        throw new TensorFlowIgniteException(
            ErrorCode.INVALID_REQUEST,
            "column " + name + " is asked for twice; a column is read once; name it once");
      }
      selected.add(supported(find(name)));
    }
    return selected;
  }

  static Field inKey(Field field) {
    Map<String, String> metadata = new LinkedHashMap<>(field.getMetadata());
    metadata.put(IN_KEY, "");
    FieldType type = new FieldType(field.isNullable(), field.getType(), null, metadata);
    return new Field(field.getName(), type, field.getChildren());
  }

  static boolean isInKey(Field field) {
    return field.getMetadata().containsKey(IN_KEY);
  }

  static Schema arrow(List<CacheColumn> columns) {
    return new Schema(columns.stream().map(CacheColumn::field).collect(Collectors.toList()));
  }

  private CacheColumn find(String name) {
    CacheColumn found = columns.getOrDefault(name, onRequest.get(name));
    if (found == null) {
      throw new TensorFlowIgniteException(
          ErrorCode.COLUMN_NOT_FOUND,
          String.format(
              "cache %s has no column %s; its columns are %s; name one of these, or ask for the key"
                  + " with key=True",
              cache, name, columns.keySet()));
    }
    return found;
  }

  private CacheColumn supported(CacheColumn column) {
    if (!column.supported()) {
      List<String> readable =
          columns.values().stream()
              .filter(CacheColumn::supported)
              .map(CacheColumn::name)
              .collect(Collectors.toList());
      throw new TensorFlowIgniteException(
          ErrorCode.UNSUPPORTED_TYPE,
          String.format(
              "cache %s: column %s is of type %s; numbers, booleans, chars, strings and arrays of"
                  + " them can be read; name the columns you need (columns=[...]), from %s",
              cache, column.name(), column.typeName(), readable));
    }
    return column;
  }
}
