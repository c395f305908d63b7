package io.tensorflowignite.data.load;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.Caches;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadCommand;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * A LoadCommand and the schema of its batches, checked: which columns are the key, how each of the
 * others is stored.
 */
final class LoadPlan {
  private static final int MAX_PARTITIONS = 65_000;
  private static final int MAX_NAME_BYTES = 200;
  private static final Set<Class<?>> KEYS =
      Set.of(
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          String.class,
          Character.class,
          Boolean.class,
          UUID.class,
          BigDecimal.class,
          Date.class,
          Timestamp.class,
          Time.class);

  private final LoadCommand command;
  private final List<Field> fields;
  private final List<ColumnType> types;
  private final LoadKey key;

  private LoadPlan(LoadCommand command, List<Field> fields, List<ColumnType> types, LoadKey key) {
    this.command = command;
    this.fields = fields;
    this.types = types;
    this.key = key;
  }

  static LoadPlan of(LoadCommand command, Schema schema) {
    requireCommand(command);
    List<Field> fields = new ArrayList<>();
    List<ColumnType> types = new ArrayList<>();
    Map<String, ColumnType> all = new LinkedHashMap<>();
    for (Field field : schema.getFields()) {
      String name = field.getName();
      requireName(command.getCache(), name, all.keySet());
      ColumnType type =
          ColumnTypes.ofField(field).orElseThrow(() -> unsupported(command.getCache(), field));
      all.put(name, type);
      if (!name.equals(command.getKeyColumn()) && !name.equals(command.getAffinityColumn())) {
        fields.add(type.field(name));
        types.add(type);
      }
    }
    LoadKey key = key(command, schema, all);
    if (fields.isEmpty()) {
      throw invalid(
          "the rows for cache %s have no column besides their key; a row holds at least one; add a"
              + " column",
          command.getCache());
    }
    return new LoadPlan(command, fields, types, key);
  }

  private static LoadKey key(LoadCommand command, Schema schema, Map<String, ColumnType> all) {
    String key = command.getKeyColumn();
    String affinity = command.getAffinityColumn();
    if (!affinity.isEmpty() && (key.isEmpty() || key.equals(affinity))) {
      throw invalid(
          "the rows for cache %s have affinity column %s and key column \"%s\"; keys are then made"
              + " of both, and each row needs a key of its own; name the column of the keys, one"
              + " that is not the affinity column, as key",
          command.getCache(), affinity, key);
    }
    if (key.isEmpty()) {
      return LoadKey.counted();
    }
    Field field = keyField(command.getCache(), "keys", key, schema, all);
    LoadKey single = LoadKey.of(field, all.get(key));
    return affinity.isEmpty()
        ? single
        : single.with(
            keyField(command.getCache(), "affinity", affinity, schema, all), all.get(affinity));
  }

  private static Field keyField(
      String cache, String role, String name, Schema schema, Map<String, ColumnType> all) {
    if (!all.containsKey(name)) {
      throw new TensorFlowIgniteException(
          ErrorCode.COLUMN_NOT_FOUND,
          String.format(
              "the rows for cache %s have no column %s to take their %s from; their columns are"
                  + " %s; name one of these",
              cache, name, role, all.keySet()));
    }
    ColumnType type = all.get(name);
    if (!KEYS.contains(type.storage())) {
      throw unsupported(cache, schema.findField(name));
    }
    return type.field(name);
  }

  LoadCommand command() {
    return command;
  }

  String cache() {
    return command.getCache();
  }

  /** The columns that become fields of the values. */
  List<Field> fields() {
    return fields;
  }

  /** Of the fields, in their order. */
  List<ColumnType> types() {
    return types;
  }

  LoadKey key() {
    return key;
  }

  /** What is stored beside the cache, so that its rows are read as they were loaded. */
  Schema schema() {
    List<Field> all = new ArrayList<>();
    if (key.isObject()) {
      key.fields().forEach(field -> all.add(CacheSchema.inKey(field)));
    } else if (key.isCounted()) {
      all.add(ColumnType.plain(CacheSchema.KEY, new ArrowType.Int(64, true)));
    } else {
      Field field = key.fields().get(0);
      all.add(new Field(CacheSchema.KEY, field.getFieldType(), field.getChildren()));
    }
    all.addAll(fields);
    return new Schema(all);
  }

  private static void requireCommand(LoadCommand command) {
    Caches.requireName(command.getCache());
    if (command.getCache().startsWith(SystemCache.PREFIX)) {
      throw invalid(
          "cache %s cannot be loaded; names that begin with %s are kept for this system; choose"
              + " another name",
          command.getCache(), SystemCache.PREFIX);
    }
    String cache = command.getCache();
    if (cache.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES
        || cache.chars().anyMatch(letter -> Character.isISOControl(letter))
        || cache.indexOf('/') >= 0
        || cache.indexOf('\\') >= 0) {
      throw invalid(
          "'%s' cannot be the name of a cache that is loaded; where data are on disk it names a"
              + " directory: at most %d bytes, without slashes and control characters; choose"
              + " another name",
          cache, MAX_NAME_BYTES);
    }
    if (command.getBackups() < 0
        || command.getPartitions() < 0
        || command.getPartitions() > MAX_PARTITIONS) {
      throw invalid(
          "cache %s cannot have %d backups and %d partitions; backups are 0 or more, partitions 0"
              + " (Ignite's default) to %d; choose within these",
          command.getCache(), command.getBackups(), command.getPartitions(), MAX_PARTITIONS);
    }
  }

  private static void requireName(String cache, String name, Set<String> seen) {
    if (name.isEmpty() || name.equals(CacheSchema.KEY) || name.equals("_val")) {
      throw invalid(
          "the rows for cache %s have a column named \"%s\"; a column has a name, and _key and _val"
              + " are Ignite's own; rename the column",
          cache, name);
    }
    // Ignite tells fields apart without regard to case.
    for (String other : seen) {
      if (other.toLowerCase(Locale.ROOT).equals(name.toLowerCase(Locale.ROOT))) {
        throw invalid(
            "the rows for cache %s have two columns %s and %s; Ignite does not tell upper from"
                + " lower case; rename one",
            cache, other, name);
      }
    }
  }

  private static TensorFlowIgniteException unsupported(String cache, Field field) {
    return new TensorFlowIgniteException(
        ErrorCode.UNSUPPORTED_TYPE,
        String.format(
            "cache %s cannot be loaded: column %s is of type %s; a column holds numbers of up to 64"
                + " bits (unsigned: 32), decimals, booleans, strings, binary, dates, times, or"
                + " lists, structs and maps of these, and a key integers, decimals, strings, UUIDs"
                + " or times; cast the column, or leave it out",
            cache, field.getName(), field));
  }

  private static TensorFlowIgniteException invalid(String text, Object... values) {
    return new TensorFlowIgniteException(ErrorCode.INVALID_REQUEST, String.format(text, values));
  }
}
