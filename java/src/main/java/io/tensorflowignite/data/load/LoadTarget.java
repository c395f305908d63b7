package io.tensorflowignite.data.load;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_EXISTS;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.baseline.Baseline;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.NodeZones;
import io.tensorflowignite.data.schema.SchemaResolver;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.schema.StoredTypes;
import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.region.PartitionMemory;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.region.Reservation;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ExistingCache;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
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

/** The cache that a load writes: a new one, or an existing one. */
final class LoadTarget {
  /** In the metadata of a field: the shape of a value of several dimensions, as a JSON list. */
  private static final String SHAPE = "tensorflow_ignite.shape";

  private final Ignite ignite;
  private final SchemaStore store;
  final String cache;

  /** Name of the binary type of the keys, if they are objects. */
  final String keyType;

  /** The fields of the keys if they are objects, in the order in which they are set. */
  final List<Field> keyFields;

  /** Name of the binary type of the values. */
  final String valueType;

  /**
   * Whether this load has created the cache for itself alone. Other loads may write at the same
   * time into a cache that is co-located with another one.
   */
  final boolean isNew;

  private LoadTarget(
      Ignite ignite,
      SchemaStore store,
      String cache,
      String keyType,
      List<Field> keyFields,
      String valueType,
      boolean isNew) {
    this.ignite = ignite;
    this.store = store;
    this.cache = cache;
    this.keyType = keyType;
    this.keyFields = keyFields;
    this.valueType = valueType;
    this.isNew = isNew;
  }

  /**
   * @return empty if the command is only to be checked
   */
  static Optional<LoadTarget> prepare(
      Ignite ignite, SchemaResolver schemas, SchemaStore store, LoadPlan plan) {
    CacheLookup caches = new CacheLookup(ignite);
    caches.requireActive();
    NodeZones.requireOne(plan.cache(), plan.fields, ignite.cluster().forServers().nodes());
    Optional<CoLocation> like = CoLocation.of(ignite, plan);
    List<Field> keyFields = like.map(other -> other.requireKeys(plan)).orElse(plan.key.fields());
    ExistingCache existing = plan.command.getExisting();
    if (ignite.cacheNames().contains(plan.cache())) {
      requireUserCache(ignite, plan.cache());
      if (existing == ExistingCache.EXISTING_CACHE_APPEND) {
        return existing(ignite, schemas, store, plan, like, keyFields, caches.binary(plan.cache()));
      }
      if (existing != ExistingCache.EXISTING_CACHE_REPLACE) {
        throw exists(plan.cache());
      }
      requireWholeBaseline(ignite, plan.cache());
      if (!plan.command.getOnlyCheck()) {
        new CacheRemoval(ignite).destroy(plan.cache());
      }
    }
    if (plan.command.getOnlyCheck()) {
      return Optional.empty();
    }
    Optional<LoadTarget> created = create(ignite, store, plan, like, keyFields);
    if (created.isEmpty() && existing != ExistingCache.EXISTING_CACHE_APPEND) {
      throw exists(plan.cache());
    }
    return created.or(
        () -> existing(ignite, schemas, store, plan, like, keyFields, caches.binary(plan.cache())));
  }

  /** Refuses system caches. Prefixes do not identify them: users configure the storage's names. */
  private static void requireUserCache(Ignite ignite, String cache) {
    if (!SystemCache.userCaches(ignite).contains(cache)) {
      throw invalidRequest(
          "cache %s cannot be loaded; it is a system cache; choose another name", cache);
    }
  }

  /** Refuses to replace a cache that has rows on the disk of a node that is off. */
  private static void requireWholeBaseline(Ignite ignite, String cache) {
    String missing =
        Baseline.missing(ignite).stream().map(Baseline::text).collect(Collectors.joining(", "));
    if (!missing.isEmpty()
        && CacheDescriptor.of(ignite, cache).filter(CacheDescriptor::isPersistent).isPresent()) {
      throw invalidRequest(
          "cache %s is not replaced, since nodes of the baseline are off (%s); their disks have old"
              + " rows of it, which come back among the new rows when the nodes start; start the"
              + " nodes and load again, or remove those that are permanently off (tensorflow-ignite"
              + " baseline --remove NODE), or load into a cache of another name",
          cache, missing);
    }
  }

  /** Name of the binary type of nested objects, by their path in the values. */
  String nestedType(String path) {
    return valueType + "." + path;
  }

  /** The rows of each partition that is primary on this node. */
  Map<Integer, Long> partitionRows() {
    Map<Integer, Long> rows = new TreeMap<>();
    IgniteCache<Object, Object> opened = ignite.cache(cache);
    for (int partition : ignite.affinity(cache).primaryPartitions(ignite.cluster().localNode())) {
      rows.put(partition, opened.localSizeLong(partition, CachePeekMode.PRIMARY));
    }
    return rows;
  }

  long size() {
    return ignite.cache(cache).sizeLong(CachePeekMode.PRIMARY);
  }

  /** After a failed load: removes the cache if the load has created it. */
  void discard() {
    if (isNew) {
      new CacheRemoval(ignite).destroy(cache);
      store.remove(cache);
    }
  }

  /** Creates the cache; empty: another load has created it in the meantime. */
  private static Optional<LoadTarget> create(
      Ignite ignite,
      SchemaStore store,
      LoadPlan plan,
      Optional<CoLocation> like,
      List<Field> keyFields) {
    requireOwnHash(ignite, plan.cache());
    String valueType = newTypeName(ignite, plan);
    String keyType = keyTypeName(valueType, like);
    CacheConfiguration<Object, Object> configuration =
        new CacheConfiguration<Object, Object>(plan.cache())
            .setCacheMode(
                plan.command.getReplicated() ? CacheMode.REPLICATED : CacheMode.PARTITIONED)
            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC);
    if (!plan.command.getWithoutSql()) {
      configuration.setQueryEntities(List.of(entity(plan, keyType, valueType, like)));
    }
    if (plan.key.isObject() && like.isEmpty()) {
      configuration.setKeyConfiguration(
          new CacheKeyConfiguration(keyType, plan.command.getAffinityColumn()));
    }
    if (!plan.command.getReplicated()) {
      configuration.setBackups(plan.command.getBackups());
    }
    if (plan.command.getPartitions() > 0) {
      configuration.setAffinity(
          new RendezvousAffinityFunction(false, plan.command.getPartitions()));
    }
    like.ifPresent(other -> other.configure(configuration));
    try (Reservation room = PartitionMemory.reserve(ignite, Purpose.DATA, configuration)) {
      ignite.createCache(configuration);
    } catch (CacheExistsException raced) {
      return Optional.empty();
    }
    try {
      store.put(plan.cache(), plan.schema());
    } catch (RuntimeException failure) {
      new CacheRemoval(ignite).destroy(plan.cache());
      throw failure;
    }
    return Optional.of(
        new LoadTarget(ignite, store, plan.cache(), keyType, keyFields, valueType, like.isEmpty()));
  }

  private static void requireOwnHash(Ignite ignite, String cache) {
    for (String other : ignite.cacheNames()) {
      if (!other.equals(cache) && other.hashCode() == cache.hashCode()) {
        throw invalidRequest(
            "cache %s cannot be created beside cache %s; Ignite identifies a cache by a hash of its"
                + " name, which is the same for both; choose another name",
            cache, other);
      }
    }
  }

  private static Optional<LoadTarget> existing(
      Ignite ignite,
      SchemaResolver schemas,
      SchemaStore store,
      LoadPlan plan,
      Optional<CoLocation> like,
      List<Field> keyFields,
      IgniteCache<Object, Object> cache) {
    Optional<CacheKeyConfiguration> affinity = affinity(cache);
    if (like.isPresent()) {
      like.get().requireSame(cache);
    } else {
      requireSameAffinity(affinity.map(CacheKeyConfiguration::getAffinityKeyFieldName), plan);
    }
    Optional<CacheSchema> schema = schemas.resolve(cache);
    if (schema.isPresent()) {
      requireSame(schema.get(), plan, keyName(cache), store.get(plan.cache()));
    } else if (!plan.command.getOnlyCheck()) {
      store.put(plan.cache(), plan.schema());
    }
    String valueType = schemas.objectType(cache).orElseGet(() -> newTypeName(ignite, plan));
    String keyType =
        like.flatMap(CoLocation::keyType)
            .or(() -> affinity.map(CacheKeyConfiguration::getTypeName))
            .orElse(keyTypeName(valueType, like));
    return plan.command.getOnlyCheck()
        ? Optional.empty()
        : Optional.of(
            new LoadTarget(ignite, store, plan.cache(), keyType, keyFields, valueType, false));
  }

  @SuppressWarnings("unchecked")
  private static Optional<CacheKeyConfiguration> affinity(IgniteCache<Object, Object> cache) {
    CacheConfiguration<Object, Object> configuration =
        cache.getConfiguration(CacheConfiguration.class);
    CacheKeyConfiguration[] keys = configuration.getKeyConfiguration();
    return keys == null || keys.length != 1 ? Optional.empty() : Optional.of(keys[0]);
  }

  private static void requireSameAffinity(Optional<String> affinity, LoadPlan plan) {
    String ofRows = plan.command.getAffinityColumn();
    if (!affinity.orElse("").equals(ofRows)) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_ROW_MISMATCH,
          "rows with affinity column \"%s\" do not fit cache %s, whose affinity column is \"%s\";"
              + " appended rows must have the cache's affinity column; change the affinity column"
              + " of the load, or replace the cache (if_exists=\"replace\", --if-exists)",
          ofRows,
          plan.cache(),
          affinity.orElse(""));
    }
  }

  /** The SQL name of the keys of a cache; empty: SQL has only _key. */
  @SuppressWarnings("unchecked")
  private static Optional<String> keyName(IgniteCache<Object, Object> cache) {
    return cache.getConfiguration(CacheConfiguration.class).getQueryEntities().stream()
        .map(entity -> ((QueryEntity) entity).getKeyFieldName())
        .filter(Objects::nonNull)
        .findFirst();
  }

  /**
   * @param stored the schema of the load that has created the cache. Columns that SQL has added
   *     since may be missing in the rows; then they are null
   */
  private static void requireSame(
      CacheSchema schema, LoadPlan plan, Optional<String> keyName, Optional<Schema> stored) {
    Set<String> given = new HashSet<>();
    plan.fields.forEach(field -> given.add(field.getName()));
    Set<String> mayBeMissing = new HashSet<>();
    if (schema.stored() && stored.isPresent()) {
      schema.columns().forEach(column -> mayBeMissing.add(column.name));
      stored.get().getFields().forEach(field -> mayBeMissing.remove(field.getName()));
    }
    List<String> ofCache = new ArrayList<>();
    schema.columns().stream()
        .filter(column -> given.contains(column.name) || !mayBeMissing.contains(column.name))
        // A load stores the schema of a new cache after it has created the cache. Until then the
        // columns are those of SQL, and the key is one of them.
        .filter(column -> schema.stored() || !keyName.equals(Optional.of(column.name)))
        .forEach(column -> ofCache.add(describe(schema, column)));
    // The fields of key objects are columns, too.
    List<String> ofRows =
        (plan.key.isObject() ? plan.columns() : plan.fields)
            .stream()
                .map(field -> describe(schema, field, typeIn(schema, field)))
                .collect(Collectors.toList());
    Class<?> key = plan.key.isObject() ? plan.key.storage() : schema.key().type.storage;
    if (key != plan.key.storage()
        || ofCache.size() != ofRows.size()
        || !new HashSet<>(ofCache).containsAll(ofRows)) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_ROW_MISMATCH,
          "rows with keys %s and columns %s do not fit cache %s, which has keys %s and columns %s;"
              + " appended rows must have the cache's columns; change the columns of the load, or"
              + " replace the cache (if_exists=\"replace\", --if-exists)",
          plan.key.storage().getSimpleName(),
          ofRows,
          plan.cache(),
          key.getSimpleName(),
          ofCache);
    }
    schema.columns().forEach(column -> requireSameShapes(column.field, plan.fields, plan.cache()));
  }

  /** Values of as many elements in another shape would be read in the shape of the cache. */
  private static void requireSameShapes(Field ofCache, List<Field> given, String cache) {
    for (Field field : given) {
      String shape = ofCache.getMetadata().get(SHAPE);
      String other = field.getMetadata().get(SHAPE);
      if (!field.getName().equals(ofCache.getName())) {
        continue;
      }
      if (shape != null && other != null && !plainShape(shape).equals(plainShape(other))) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_ROW_MISMATCH,
            "column %s has values of shape %s, and in cache %s of shape %s; appended values have"
                + " the shape of the cache's; reshape the values, or replace the cache"
                + " (if_exists=\"replace\")",
            field.getName(),
            other,
            cache,
            shape);
      }
      ofCache.getChildren().forEach(child -> requireSameShapes(child, field.getChildren(), cache));
    }
  }

  private static String plainShape(String list) {
    return list.replace(" ", "");
  }

  /** SQL names the class of days, and the metadata of objects do not. */
  private static ColumnType typeIn(CacheSchema schema, Field field) {
    ColumnType type = StoredTypes.require(field);
    return schema.columns().stream()
        .filter(column -> column.name.equals(field.getName()) && column.isKnown())
        .map(column -> column.type)
        .filter(known -> known.storage == type.storage)
        .findFirst()
        .orElse(type);
  }

  private static String describe(CacheSchema schema, CacheColumn column) {
    return column.isKnown()
        ? describe(schema, column.field, column.type)
        : column.name + ": " + column.typeName;
  }

  /**
   * A column as text. Two columns are equal if their Arrow types are equal; without a stored Arrow
   * schema, if their classes in Ignite are equal.
   */
  private static String describe(CacheSchema schema, Field field, ColumnType type) {
    return field.getName() + ": " + (schema.stored() ? arrow(field) : type.binaryName);
  }

  /**
   * The fields of a struct have names and any order; the names inside lists and maps say nothing.
   */
  private static String arrow(Field field) {
    boolean isStruct = field.getType() instanceof ArrowType.Struct;
    List<Field> children =
        field.getType() instanceof ArrowType.Map
            ? field.getChildren().get(0).getChildren()
            : field.getChildren();
    Stream<String> inner =
        children.stream()
            .map(child -> " of " + (isStruct ? child.getName() + ": " : "") + arrow(child));
    return field.getType() + (isStruct ? inner.sorted() : inner).collect(Collectors.joining());
  }

  private static QueryEntity entity(
      LoadPlan plan, String keyType, String valueType, Optional<CoLocation> like) {
    LoadKey key = plan.key;
    QueryEntity entity =
        new QueryEntity(key.isObject() ? keyType : key.storage().getName(), valueType);
    Map<String, Integer> precision = new HashMap<>();
    Map<String, Integer> scale = new HashMap<>();
    Optional<String> keyName = keyName(plan, like);
    for (Field field : plan.columns()) {
      boolean isKey = !key.isObject() && key.fields().contains(field);
      if (isKey && keyName.isEmpty()) {
        continue;
      }
      String name = isKey ? keyName.get() : field.getName();
      entity.addQueryField(name, StoredTypes.require(field).storage.getName(), null);
      if (field.getType() instanceof ArrowType.Decimal) {
        precision.put(name, ((ArrowType.Decimal) field.getType()).getPrecision());
        scale.put(name, ((ArrowType.Decimal) field.getType()).getScale());
      }
    }
    entity.setFieldsPrecision(precision);
    entity.setFieldsScale(scale);
    if (key.isObject()) {
      entity.setKeyFields(
          key.fields().stream()
              .map(Field::getName)
              .collect(Collectors.toCollection(LinkedHashSet::new)));
    } else {
      keyName.ifPresent(entity::setKeyFieldName);
    }
    return entity;
  }

  /** The name of the key in SQL, if keys are no objects; empty: SQL has only _key. */
  private static Optional<String> keyName(LoadPlan plan, Optional<CoLocation> like) {
    if (like.isPresent()) {
      // A column of the rows may already have this name.
      return like.get()
          .keyName()
          .filter(
              name ->
                  plan.fields.stream().noneMatch(field -> field.getName().equalsIgnoreCase(name)));
    }
    return plan.key.fields().stream().findFirst().map(Field::getName);
  }

  /**
   * The cache's name in camel case. It gets a number if the cluster already has a type of this name
   * with other fields, or a type of another name whose hash is the same: binary types outlive their
   * caches.
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
    for (int number = 2; !accepts(ignite, candidate, plan); number++) {
      candidate = name + "_" + number;
    }
    return candidate;
  }

  private static String keyTypeName(String valueType, Optional<CoLocation> like) {
    return like.flatMap(CoLocation::keyType).orElse(valueType + "Key");
  }

  /** Whether the cluster's binary types, if they exist, accept the fields of the plan. */
  private static boolean accepts(Ignite ignite, String valueType, LoadPlan plan) {
    return accepts(ignite, valueType, plan.fields)
        && (!plan.key.isObject()
            || !plan.command.getLike().isEmpty()
            || accepts(ignite, keyTypeName(valueType, Optional.empty()), plan.key.fields()));
  }

  private static boolean accepts(Ignite ignite, String typeName, List<Field> fields) {
    BinaryType type = ignite.binary().type(typeName);
    if (type != null && !type.typeName().equals(typeName)) {
      // Ignite identifies a type by the hash of its name in lower case, and keeps one name for it.
      return false;
    }
    for (Field field : fields) {
      String known = type == null ? null : type.fieldTypeName(field.getName());
      String loaded = StoredTypes.of(field).map(stored -> stored.binaryName).orElse(null);
      if (known != null && !known.equals(loaded)
          || !acceptsInside(ignite, typeName + "." + field.getName(), field)) {
        return false;
      }
    }
    return true;
  }

  /** Types of nested objects are named by their path. */
  private static boolean acceptsInside(Ignite ignite, String path, Field field) {
    if (field.getType() instanceof ArrowType.Struct) {
      return accepts(ignite, path, field.getChildren());
    }
    boolean map = field.getType() instanceof ArrowType.Map;
    List<Field> inside = map ? field.getChildren().get(0).getChildren() : field.getChildren();
    return inside.stream()
        .allMatch(child -> acceptsInside(ignite, map ? path + "." + child.getName() : path, child));
  }

  private static TensorFlowIgniteException exists(String cache) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_CACHE_EXISTS,
        "cache %s exists. A load creates a new cache by default. Choose another name, or set"
            + " if_exists=\"replace\" or if_exists=\"append\" (--if-exists)",
        cache);
  }
}
