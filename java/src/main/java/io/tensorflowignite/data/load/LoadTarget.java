package io.tensorflowignite.data.load;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.Caches;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ExistingCache;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryType;
import org.apache.ignite.cache.CacheExistsException;
import org.apache.ignite.cache.CacheKeyConfiguration;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;

/** The cache that a load writes: made for it, or found as it is. */
final class LoadTarget {
  private final Ignite ignite;
  private final SchemaStore store;
  private final String cache;
  private final String keyType;
  private final String valueType;
  private final boolean made;

  private LoadTarget(
      Ignite ignite,
      SchemaStore store,
      String cache,
      String keyType,
      String valueType,
      boolean made) {
    this.ignite = ignite;
    this.store = store;
    this.cache = cache;
    this.keyType = keyType;
    this.valueType = valueType;
    this.made = made;
  }

  static LoadTarget prepare(Ignite ignite, Schemas schemas, SchemaStore store, LoadPlan plan) {
    Caches caches = new Caches(ignite);
    caches.requireActive();
    ExistingCache existing = plan.command().getExisting();
    if (caches.exists(plan.cache())) {
      requireUsers(ignite, plan.cache());
      if (existing == ExistingCache.EXISTING_CACHE_APPEND) {
        return found(ignite, schemas, store, plan, caches.binary(plan.cache()));
      }
      if (existing != ExistingCache.EXISTING_CACHE_REPLACE) {
        throw exists(plan.cache());
      }
      new CacheRemoval(ignite).destroy(plan.cache());
    }
    return make(ignite, store, plan);
  }

  /** The store of files is called as its configuration says. */
  private static void requireUsers(Ignite ignite, String cache) {
    if (!SystemCache.userCaches(ignite).contains(cache)) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "cache %s cannot be loaded; it is one of this system's own; choose another name",
              cache));
    }
  }

  String cache() {
    return cache;
  }

  /** Name of the binary type of the keys, when they are objects. */
  String keyType() {
    return keyType;
  }

  /** Name of the binary type of the values. */
  String valueType() {
    return valueType;
  }

  /** Name of the binary type of the objects inside of the values, by where they stand. */
  String nestedType(String path) {
    return valueType + "." + path;
  }

  /** Whether this load made the cache. */
  boolean made() {
    return made;
  }

  long size() {
    return ignite.cache(cache).sizeLong(CachePeekMode.PRIMARY);
  }

  /** After a load that failed: what it made is removed. */
  void discard() {
    if (made) {
      new CacheRemoval(ignite).destroy(cache);
      store.remove(cache);
    }
  }

  private static LoadTarget make(Ignite ignite, SchemaStore store, LoadPlan plan) {
    String valueType = newTypeName(ignite, plan);
    String keyType = keyTypeName(valueType);
    CacheConfiguration<Object, Object> configuration =
        new CacheConfiguration<Object, Object>(plan.cache())
            .setCacheMode(
                plan.command().getReplicated() ? CacheMode.REPLICATED : CacheMode.PARTITIONED)
            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC);
    if (!plan.command().getWithoutSql()) {
      configuration.setQueryEntities(List.of(entity(plan, keyType, valueType)));
    }
    if (plan.key().isObject()) {
      configuration.setKeyConfiguration(
          new CacheKeyConfiguration(keyType, plan.command().getAffinityColumn()));
    }
    if (!plan.command().getReplicated()) {
      configuration.setBackups(plan.command().getBackups());
    }
    if (plan.command().getPartitions() > 0) {
      configuration.setAffinity(
          new RendezvousAffinityFunction(false, plan.command().getPartitions()));
    }
    try {
      ignite.createCache(configuration);
    } catch (CacheExistsException raced) {
      throw exists(plan.cache());
    }
    try {
      store.put(plan.cache(), plan.schema());
    } catch (RuntimeException failure) {
      new CacheRemoval(ignite).destroy(plan.cache());
      throw failure;
    }
    return new LoadTarget(ignite, store, plan.cache(), keyType, valueType, true);
  }

  private static LoadTarget found(
      Ignite ignite,
      Schemas schemas,
      SchemaStore store,
      LoadPlan plan,
      IgniteCache<Object, Object> cache) {
    Optional<CacheKeyConfiguration> affinity = affinity(cache);
    requireSameAffinity(affinity.map(CacheKeyConfiguration::getAffinityKeyFieldName), plan);
    Optional<CacheSchema> schema = schemas.known(cache);
    if (schema.isPresent()) {
      requireSame(schema.get(), plan);
    } else {
      store.put(plan.cache(), plan.schema());
    }
    String valueType = schemas.objectType(cache).orElseGet(() -> newTypeName(ignite, plan));
    String keyType =
        affinity.map(CacheKeyConfiguration::getTypeName).orElse(keyTypeName(valueType));
    return new LoadTarget(ignite, store, plan.cache(), keyType, valueType, false);
  }

  @SuppressWarnings("unchecked")
  private static Optional<CacheKeyConfiguration> affinity(IgniteCache<Object, Object> cache) {
    CacheConfiguration<Object, Object> configuration =
        cache.getConfiguration(CacheConfiguration.class);
    CacheKeyConfiguration[] keys = configuration.getKeyConfiguration();
    return keys == null || keys.length != 1 ? Optional.empty() : Optional.of(keys[0]);
  }

  private static void requireSameAffinity(Optional<String> affinity, LoadPlan plan) {
    String brings = plan.command().getAffinityColumn();
    if (!affinity.orElse("").equals(brings)) {
      throw new TensorFlowIgniteException(
          ErrorCode.ROW_MISMATCH,
          String.format(
              "rows with affinity column \"%s\" do not fit cache %s, whose affinity column is"
                  + " \"%s\"; appended rows must have the same; change it, or replace the cache",
              brings, plan.cache(), affinity.orElse("")));
    }
  }

  private static void requireSame(CacheSchema schema, LoadPlan plan) {
    List<String> has = new ArrayList<>();
    schema.columns().forEach(column -> has.add(describe(schema, column)));
    List<String> brings = new ArrayList<>();
    if (plan.key().isObject()) {
      describe(schema, plan.key().fields(), plan.key().types(), brings);
    }
    describe(schema, plan.fields(), plan.types(), brings);
    // The fields of a key that is an object are columns too.
    Class<?> key = plan.key().isObject() ? plan.key().storage() : schema.key().type().storage();
    boolean sameKeys = key == plan.key().storage();
    if (!sameKeys || has.size() != brings.size() || !has.containsAll(brings)) {
      throw new TensorFlowIgniteException(
          ErrorCode.ROW_MISMATCH,
          String.format(
              "rows with keys %s and columns %s do not fit cache %s, which has keys %s and columns"
                  + " %s; appended rows must have the same columns; change them, or replace the"
                  + " cache",
              plan.key().storage().getSimpleName(),
              brings,
              plan.cache(),
              key.getSimpleName(),
              has));
    }
  }

  private static void describe(
      CacheSchema schema, List<Field> fields, List<ColumnType> types, List<String> into) {
    for (int i = 0; i < fields.size(); i++) {
      into.add(describe(schema, fields.get(i), types.get(i)));
    }
  }

  private static String describe(CacheSchema schema, CacheColumn column) {
    return column.known()
        ? describe(schema, column.field(), column.type())
        : column.name() + ": " + column.typeName();
  }

  /**
   * Columns are the same when their stored Arrow types are, or, where none are stored, their
   * classes in Ignite.
   */
  private static String describe(CacheSchema schema, Field field, ColumnType type) {
    return field.getName() + ": " + (schema.stored() ? arrow(field) : type.binaryName());
  }

  private static String arrow(Field field) {
    StringBuilder text = new StringBuilder(field.getType().toString());
    field.getChildren().forEach(child -> text.append(" of ").append(arrow(child)));
    return text.toString();
  }

  private static QueryEntity entity(LoadPlan plan, String keyType, String valueType) {
    LoadKey key = plan.key();
    QueryEntity entity =
        new QueryEntity(key.isObject() ? keyType : key.storage().getName(), valueType);
    addFields(entity, key.fields(), key.types());
    if (key.isObject()) {
      entity.setKeyFields(new LinkedHashSet<>(entity.getFields().keySet()));
    } else if (!key.isCounted()) {
      entity.setKeyFieldName(key.fields().get(0).getName());
    }
    addFields(entity, plan.fields(), plan.types());
    addDigits(entity, key.fields());
    addDigits(entity, plan.fields());
    return entity;
  }

  private static void addFields(QueryEntity entity, List<Field> fields, List<ColumnType> types) {
    for (int i = 0; i < fields.size(); i++) {
      entity.addQueryField(fields.get(i).getName(), types.get(i).storage().getName(), null);
    }
  }

  private static void addDigits(QueryEntity entity, List<Field> fields) {
    Map<String, Integer> precision = new HashMap<>(entity.getFieldsPrecision());
    Map<String, Integer> scale = new HashMap<>(entity.getFieldsScale());
    for (Field field : fields) {
      if (field.getType() instanceof ArrowType.Decimal) {
        precision.put(field.getName(), ((ArrowType.Decimal) field.getType()).getPrecision());
        scale.put(field.getName(), ((ArrowType.Decimal) field.getType()).getScale());
      }
    }
    entity.setFieldsPrecision(precision);
    entity.setFieldsScale(scale);
  }

  /**
   * The cache's name in camel case, with a number when the cluster already knows a type of that
   * name whose fields differ: binary types outlive their caches.
   */
  private static String newTypeName(Ignite ignite, LoadPlan plan) {
    StringBuilder name = new StringBuilder();
    for (String word : plan.cache().split("[^A-Za-z0-9]+")) {
      if (!word.isEmpty()) {
        name.append(word.substring(0, 1).toUpperCase(Locale.ROOT)).append(word.substring(1));
      }
    }
    if (name.length() == 0 || Character.isDigit(name.charAt(0))) {
      name.insert(0, "Row");
    }
    String candidate = name.toString();
    for (int number = 2; !fit(ignite, candidate, plan); number++) {
      candidate = name + "_" + number;
    }
    return candidate;
  }

  private static String keyTypeName(String valueType) {
    return valueType + "Key";
  }

  private static boolean fit(Ignite ignite, String valueType, LoadPlan plan) {
    return fits(ignite, valueType, plan.fields())
        && (!plan.key().isObject() || fits(ignite, keyTypeName(valueType), plan.key().fields()));
  }

  private static boolean fits(Ignite ignite, String typeName, List<Field> fields) {
    BinaryType type = ignite.binary().type(typeName);
    for (Field field : fields) {
      String known = type == null ? null : type.fieldTypeName(field.getName());
      String brings = ColumnTypes.ofField(field).map(ColumnType::binaryName).orElse(null);
      if (known != null && !known.equals(brings)) {
        return false;
      }
      if (!fitsInside(ignite, typeName + "." + field.getName(), field)) {
        return false;
      }
    }
    return true;
  }

  /** The types of objects inside of a field are named by where they stand. */
  private static boolean fitsInside(Ignite ignite, String path, Field field) {
    if (field.getType() instanceof ArrowType.Struct) {
      return fits(ignite, path, field.getChildren());
    }
    boolean map = field.getType() instanceof ArrowType.Map;
    List<Field> inside = map ? field.getChildren().get(0).getChildren() : field.getChildren();
    for (Field child : inside) {
      if (!fitsInside(ignite, map ? path + "." + child.getName() : path, child)) {
        return false;
      }
    }
    return true;
  }

  private static TensorFlowIgniteException exists(String cache) {
    return new TensorFlowIgniteException(
        ErrorCode.CACHE_EXISTS,
        String.format(
            "cache %s exists. A load makes a new cache unless it is told otherwise. Choose another"
                + " name, or say what to do with it: if_exists=\"replace\" or if_exists=\"append\"",
            cache));
  }
}
