package io.tensorflowignite.data.schema;

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
public final class CacheSchema {
  /** The name of the column that holds the cache's keys. */
  public static final String KEY = "_key";

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
  public CacheSchema(
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

  public String cache() {
    return cache;
  }

  public boolean stored() {
    return stored;
  }

  public List<CacheColumn> columns() {
    return new ArrayList<>(columns.values());
  }

  public CacheColumn key() {
    return key.get();
  }

  /** The columns to read, the key first when it is asked for; every column when none is named. */
  public List<CacheColumn> select(List<String> names, boolean withKey) {
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
      selected.add(find(name));
    }
    return selected;
  }

  /** Refuses names that are none of a column, and not that of the key. */
  public void requireColumns(List<String> names) {
    names.stream().filter(name -> !name.equals(KEY)).forEach(this::find);
  }

  public static Field inKey(Field field) {
    Map<String, String> metadata = new LinkedHashMap<>(field.getMetadata());
    metadata.put(IN_KEY, "");
    FieldType type = new FieldType(field.isNullable(), field.getType(), null, metadata);
    return new Field(field.getName(), type, field.getChildren());
  }

  public static boolean isInKey(Field field) {
    return field.getMetadata().containsKey(IN_KEY);
  }

  public static Schema arrow(List<CacheColumn> columns) {
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
}
