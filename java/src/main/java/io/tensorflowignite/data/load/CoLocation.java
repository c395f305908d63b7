package io.tensorflowignite.data.load;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;

import com.google.common.collect.Collections2;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.data.schema.StoredTypes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.cache.Cache;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.cache.CacheKeyConfiguration;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * The cache to which the rows of a load are co-located: equal keys are in the same partition of the
 * same node. So the keys must have the type of that cache's keys, and equal keys the same bytes.
 */
final class CoLocation {
  /** Of a key: the number of the orders of its fields grows fast. */
  private static final int MAX_FIELDS = 5;

  private final Ignite ignite;
  private final IgniteCache<Object, Object> cache;
  private final CacheConfiguration<Object, Object> configuration;
  private final Optional<Object> key;

  private CoLocation(Ignite ignite, IgniteCache<Object, Object> cache) {
    this.ignite = ignite;
    this.cache = cache;
    configuration = configuration(cache);
    key = key(cache);
  }

  /** The cache that a plan names; empty: it names none. */
  static Optional<CoLocation> of(Ignite ignite, LoadPlan plan) {
    String name = plan.command.getLike();
    return name.isEmpty()
        ? Optional.empty()
        : Optional.of(new CoLocation(ignite, new CacheLookup(ignite).binary(name)));
  }

  /** The name of the keys of the cache in SQL, if they are no objects; empty: none. */
  Optional<String> keyName() {
    return entity().map(QueryEntity::getKeyFieldName);
  }

  /** The name of the binary type of the keys; empty: they are no objects, or there is no row. */
  Optional<String> keyType() {
    return key.filter(BinaryObject.class::isInstance)
        .map(object -> ((BinaryObject) object).type().typeName());
  }

  /** Gives a new cache what decides where its rows are stored. */
  void configure(CacheConfiguration<Object, Object> created) {
    created
        .setCacheMode(configuration.getCacheMode())
        .setAffinity(configuration.getAffinity())
        .setNodeFilter(configuration.getNodeFilter())
        .setDataRegionName(configuration.getDataRegionName());
    if (configuration.getCacheMode() == CacheMode.PARTITIONED) {
      created.setBackups(configuration.getBackups());
    }
    if (configuration.getKeyConfiguration() != null) {
      created.setKeyConfiguration(configuration.getKeyConfiguration());
    }
  }

  /**
   * The fields of the keys, in the order in which they must be set; empty: keys are no objects.
   * Throws unless a load can make the keys of the cache from the columns of the plan.
   */
  List<Field> requireKeys(LoadPlan plan) {
    List<Field> fields = plan.key.isObject() ? plan.key.fields() : List.of();
    if (key.isEmpty()) {
      return fields;
    }
    Object sample = key.get();
    Optional<List<Field>> ordered = Optional.empty();
    if (!plan.key.isObject()) {
      ordered = Optional.of(fields).filter(none -> sample.getClass() == plan.key.storage());
    } else if (sample instanceof BinaryObject && fields.size() <= MAX_FIELDS) {
      // The bytes of an object have its fields in the order in which they were set, which Ignite
      // does not publish.
      ordered =
          Collections2.permutations(fields).stream()
              .filter(order -> isSame(order, (BinaryObject) sample))
              .findFirst();
    }
    if (ordered.isEmpty()) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_UNSUPPORTED_TYPE,
          "cache %s cannot get rows with the keys of cache %s, such as %s: these cannot be made"
              + " from their columns %s. A row with the same key needs a key of numbers, text,"
              + " UUIDs or times, or an object of at most 5 such fields. Load the rows into a cache"
              + " with such keys",
          plan.cache(),
          cache.getName(),
          sample instanceof BinaryObject
              ? ((BinaryObject) sample).type().typeName()
              : sample.getClass().getSimpleName(),
          plan.key.fields());
    }
    return ordered.get();
  }

  /** Whether an object that is made as a load makes it equals the sample. */
  private boolean isSame(List<Field> fields, BinaryObject sample) {
    BinaryObjectBuilder built = ignite.binary().builder(sample.type().typeName());
    for (Field field : fields) {
      Object value = sample.field(field.getName());
      if (value == null || value.getClass() != StoredTypes.require(field).storage) {
        return false;
      }
      built.setField(field.getName(), value);
    }
    return built.build().equals(sample);
  }

  /** Throws unless an existing cache has its rows on the same nodes as this cache. */
  void requireSame(IgniteCache<Object, Object> existing) {
    CacheConfiguration<Object, Object> other = configuration(existing);
    Map<String, List<String>> differing = new TreeMap<>();
    compare(
        differing,
        "mode",
        configuration.getCacheMode().toString(),
        other.getCacheMode().toString());
    compare(
        differing,
        "affinity function",
        configuration.getAffinity().getClass().getName(),
        other.getAffinity().getClass().getName());
    compare(
        differing,
        "number of partitions",
        String.valueOf(configuration.getAffinity().partitions()),
        String.valueOf(other.getAffinity().partitions()));
    compare(differing, "affinity keys", affinityKeys(configuration), affinityKeys(other));
    Optional<Object> otherKey = key(existing);
    if (key.isPresent() && otherKey.isPresent()) {
      compare(differing, "keys", typeName(key.get()), typeName(otherKey.get()));
    }
    compare(differing, "nodes", nodes(cache), nodes(existing));
    if (!differing.isEmpty()) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_ROW_MISMATCH,
          "the caches %s and %s have their rows on different nodes: these differ: %s. Both need"
              + " the same keys, affinity and nodes, so that equal keys are on the"
              + " same node. Choose the name of a cache that does not exist, which is made so",
          existing.getName(),
          cache.getName(),
          differing);
    }
  }

  private static void compare(
      Map<String, List<String>> differing, String name, String ofCache, String ofOther) {
    if (!ofCache.equals(ofOther)) {
      differing.put(name, List.of(ofOther, ofCache));
    }
  }

  private static String typeName(Object key) {
    return key instanceof BinaryObject
        ? ((BinaryObject) key).type().typeName()
        : key.getClass().getSimpleName();
  }

  private static String affinityKeys(CacheConfiguration<Object, Object> configuration) {
    CacheKeyConfiguration[] keys = configuration.getKeyConfiguration();
    List<String> names = new ArrayList<>();
    for (CacheKeyConfiguration key : keys == null ? new CacheKeyConfiguration[0] : keys) {
      names.add(key.getTypeName() + "." + key.getAffinityKeyFieldName());
    }
    names.sort(null);
    return String.join(", ", names);
  }

  /** The nodes that may own partitions. */
  private String nodes(IgniteCache<Object, Object> of) {
    return ignite.cluster().forDataNodes(of.getName()).nodes().stream()
        .map(node -> String.valueOf(node.consistentId()))
        .sorted()
        .collect(Collectors.joining(", "));
  }

  private Optional<QueryEntity> entity() {
    return configuration.getQueryEntities().stream().findFirst();
  }

  private static Optional<Object> key(IgniteCache<Object, Object> cache) {
    Optional<Object> local = key(cache, true);
    return local.isPresent() ? local : key(cache, false);
  }

  private static Optional<Object> key(IgniteCache<Object, Object> cache, boolean local) {
    ScanQuery<Object, Object> query = new ScanQuery<>();
    query.setPageSize(1);
    query.setLocal(local);
    try (QueryCursor<Cache.Entry<Object, Object>> cursor =
        cache.<Object, Object>withKeepBinary().query(query)) {
      for (Cache.Entry<Object, Object> row : cursor) {
        return Optional.of(row.getKey());
      }
      return Optional.empty();
    }
  }

  @SuppressWarnings("unchecked")
  private static CacheConfiguration<Object, Object> configuration(
      IgniteCache<Object, Object> cache) {
    return cache.getConfiguration(CacheConfiguration.class);
  }
}
