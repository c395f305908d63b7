package io.tensorflowignite.data.schema;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** The columns of a cache. */
public final class CacheSchema {
  /** The name of the column that holds the cache's keys. */
  public static final String KEY = "_key";

  /** Key of the metadata entry of a column that is a field of the key object. */
  private static final String IN_KEY = "tensorflow-ignite.key";

  private final String cache;
  private final Map<String, CacheColumn> columns = new LinkedHashMap<>();
  private final Map<String, CacheColumn> onRequest = new LinkedHashMap<>();
  private final boolean stored;
  private final Supplier<CacheColumn> key;

  /**
   * @param columns the columns that a request without names reads
   * @param onRequest further columns that a request can name
   * @param stored the schema was stored by a load
   * @param key called only if the key is requested
   */
  public CacheSchema(
      String cache,
      List<CacheColumn> columns,
      List<CacheColumn> onRequest,
      boolean stored,
      Supplier<CacheColumn> key) {
    this.cache = cache;
    columns.forEach(column -> this.columns.put(column.name, column));
    onRequest.forEach(column -> this.onRequest.put(column.name, column));
    this.stored = stored;
    this.key = key;
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

  /** The columns to read, the key first if requested; all columns if {@code names} is empty. */
  public List<CacheColumn> select(List<String> names, boolean withKey) {
    List<CacheColumn> selected = new ArrayList<>();
    if (withKey) {
      selected.add(key());
    }
    Set<String> distinct = new HashSet<>();
    for (String name : names.isEmpty() ? columns.keySet() : names) {
      if (!distinct.add(name)) {
        throw invalidRequest(
            "column %s is requested twice; a request names a column once; remove one of the two",
            name);
      }
      selected.add(find(name));
    }
    return selected;
  }

  /** Throws COLUMN_NOT_FOUND for a name that is neither a column's nor the key's. */
  public void requireColumns(List<String> names) {
    names.stream().filter(name -> !name.equals(KEY)).forEach(this::find);
  }

  public static Field inKey(Field field) {
    Map<String, String> metadata = new LinkedHashMap<>(field.getMetadata());
    metadata.put(IN_KEY, "");
    return ColumnType.withMetadata(field, metadata);
  }

  public static boolean isInKey(Field field) {
    return field.getMetadata().containsKey(IN_KEY);
  }

  public static Schema arrow(List<CacheColumn> columns) {
    return new Schema(columns.stream().map(column -> column.field).collect(Collectors.toList()));
  }

  private CacheColumn find(String name) {
    CacheColumn found = columns.getOrDefault(name, onRequest.get(name));
    if (found == null) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_COLUMN_NOT_FOUND,
          "cache %s has no column %s; its columns are %s; name one of these, or read the key with"
              + " key=True",
          cache,
          name,
          columns.keySet());
    }
    return found;
  }
}
