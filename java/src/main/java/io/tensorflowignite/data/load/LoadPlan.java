package io.tensorflowignite.data.load;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.StoredTypes;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.LoadCommand;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.binary.BinaryBasicIdMapper;

/** A validated LoadCommand and schema of its batches: key columns, and the types of all columns. */
final class LoadPlan {
  private static final BinaryBasicIdMapper FIELD_IDS = new BinaryBasicIdMapper();
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

  final LoadCommand command;

  /** The columns that become fields of the values. */
  final List<Field> fields;

  final LoadKey key;

  LoadPlan(LoadCommand command, Schema schema) {
    requireCommand(command);
    this.command = command;
    Map<String, Field> all = new LinkedHashMap<>();
    Map<String, String> names = new HashMap<>();
    for (Field field : schema.getFields()) {
      String name = field.getName();
      if (!isKeyOfCache(name)) {
        requireName(cache(), name, names);
      }
      all.put(name, StoredTypes.of(field).orElseThrow(() -> unsupported(field)).field(name));
    }
    key = new LoadKey(keyFields(all));
    fields = new ArrayList<>(all.values());
    fields.removeAll(key.columns);
    requireDistinct(cache(), "its rows", fields);
    if (key.isObject()) {
      requireDistinct(cache(), "its keys", key.fields());
    }
    if (key.isStruct()) {
      key.fields().forEach(field -> requireName(cache(), field.getName(), names));
    }
    if (fields.isEmpty()) {
      throw invalidRequest(
          "the rows for cache %s have no column besides their key; a row needs at least one other"
              + " column; add a column",
          cache());
    }
  }

  /** Whether a column has the keys as they were read, which have no other name. */
  private boolean isKeyOfCache(String name) {
    return !command.getLike().isEmpty() && name.equals(CacheSchema.KEY);
  }

  private List<Field> keyFields(Map<String, Field> all) {
    String key = command.getKeyColumn();
    String affinity = command.getAffinityColumn();
    if (!affinity.isEmpty() && (key.isEmpty() || key.equals(affinity))) {
      throw invalidRequest(
          "the rows for cache %s have affinity column %s and key column \"%s\"; with an affinity"
              + " column, a key consists of both columns and must be unique; set key to a column"
              + " that is not the affinity column",
          cache(), affinity, key);
    }
    if (key.isEmpty()) {
      return List.of();
    }
    Field field = keyField("keys", key, all);
    return affinity.isEmpty()
        ? List.of(field)
        : List.of(field, keyField("affinity", affinity, all));
  }

  private Field keyField(String role, String name, Map<String, Field> all) {
    Field field = all.get(name);
    if (field == null) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_COLUMN_NOT_FOUND,
          "the rows for cache %s have no column %s for their %s; their columns are %s; name one of"
              + " these",
          cache(),
          name,
          role,
          all.keySet());
    }
    boolean isStruct = field.getType() instanceof ArrowType.Struct && isKeyOfCache(name);
    for (Field part : isStruct ? field.getChildren() : List.of(field)) {
      Optional<ColumnType> type = StoredTypes.of(part);
      if (type.isEmpty() || !KEYS.contains(type.get().storage)) {
        throw unsupported(field);
      }
    }
    return field;
  }

  String cache() {
    return command.getCache();
  }

  /** All columns, key columns first. */
  List<Field> columns() {
    List<Field> columns = new ArrayList<>(key.fields());
    columns.addAll(fields);
    return columns;
  }

  /** The schema that is stored for the cache, so that its rows are read with the loaded types. */
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
    CacheLookup.requireName(command.getCache());
    boolean like = !command.getLike().isEmpty();
    if (like
        && (!command.getKeyColumn().equals(CacheSchema.KEY)
            || !command.getAffinityColumn().isEmpty()
            || command.getBackups() != 0
            || command.getPartitions() != 0
            || command.getReplicated()
            || command.getLike().equals(command.getCache()))) {
      throw invalidRequest(
          "cache %s cannot be loaded like cache %s: its keys come in the column %s, and the other"
              + " cache determines affinity, backups, partitions and mode; set key_column to %3$s,"
              + " the others not, and like to another cache",
          command.getCache(), command.getLike(), CacheSchema.KEY);
    }
    if (command.getCache().startsWith(SystemCache.PREFIX)
        || command.getCache().startsWith(SystemCache.IGNITE_PREFIX)) {
      throw invalidRequest(
          "cache %s cannot be loaded; names that begin with %s or %s are reserved for system"
              + " caches; choose another name",
          command.getCache(), SystemCache.PREFIX, SystemCache.IGNITE_PREFIX);
    }
    String cache = command.getCache();
    if (cache.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES
        || cache.chars().anyMatch(letter -> Character.isISOControl(letter))
        || cache.indexOf('/') >= 0
        || cache.indexOf('\\') >= 0
        || cache.indexOf('"') >= 0) {
      throw invalidRequest(
          "'%s' cannot be the name of a loaded cache; the name becomes a schema of SQL, and with"
              + " persistence a directory: at most %d bytes, without slashes, double quotes and"
              + " control characters; choose another name",
          cache, MAX_NAME_BYTES);
    }
    if (command.getBackups() < 0
        || command.getPartitions() < 0
        || command.getPartitions() > MAX_PARTITIONS) {
      throw invalidRequest(
          "cache %s cannot have %d backups and %d partitions; backups must be 0 or more, partitions"
              + " 0 (Ignite's default) to %d; choose values in these ranges",
          command.getCache(), command.getBackups(), command.getPartitions(), MAX_PARTITIONS);
    }
  }

  /**
   * @param others the names before, by their lower case
   */
  private static void requireName(String cache, String name, Map<String, String> others) {
    if (name.isEmpty() || name.equalsIgnoreCase(CacheSchema.KEY) || name.equalsIgnoreCase("_val")) {
      throw invalidRequest(
          "the rows for cache %s have a column named \"%s\"; a column needs a name, and _key and"
              + " _val are reserved by Ignite, in upper case too; rename the column",
          cache, name);
    }
    String other = others.put(name.toLowerCase(Locale.ROOT), name);
    if (other != null) {
      throw invalidRequest(
          "the rows for cache %s have two columns %s and %s; names of fields in Ignite are"
              + " case-insensitive; rename one of the two",
          cache, other, name);
    }
  }

  /** Ignite identifies a field of an object by a hash: one of two such fields would be lost. */
  private static void requireDistinct(String cache, String where, List<Field> fields) {
    Map<Integer, String> names = new HashMap<>();
    for (Field field : fields) {
      String name = field.getName();
      String other = name.isEmpty() ? name : names.put(FIELD_IDS.fieldId(0, name), name);
      if (other != null) {
        throw invalidRequest(
            "cache %s cannot be loaded: %s have the fields \"%s\" and \"%s\"; a field needs a name,"
                + " and Ignite identifies it by a hash of the name in lower case, which is the same"
                + " for both; rename one of the two",
            cache, where, other, name);
      }
      requireDistinctInside(cache, field);
    }
  }

  private static void requireDistinctInside(String cache, Field field) {
    if (field.getType() instanceof ArrowType.Struct) {
      requireDistinct(cache, "the objects in " + field.getName(), field.getChildren());
    } else {
      field.getChildren().forEach(child -> requireDistinctInside(cache, child));
    }
  }

  private TensorFlowIgniteException unsupported(Field field) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache %s cannot be loaded: column %s is of type %s; a column holds numbers of up to 64"
            + " bits (unsigned: 32), decimals, booleans, strings, binary, dates, times, or lists,"
            + " structs and maps of these, and a key integers, decimals, strings, UUIDs or times;"
            + " cast the column, or leave it out",
        cache(),
        field.getName(),
        field);
  }
}
