package io.tensorflowignite.data;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.cache.Cache;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryType;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * Learns the columns of a cache: from the Arrow schema stored when it was loaded, else from its
 * query entities (SQL), else from the cluster's metadata of its values' binary type. One row is
 * looked at only to learn that type's name.
 */
final class Schemas {
  private final Ignite ignite;
  private final SchemaStore store;

  Schemas(Ignite ignite, SchemaStore store) {
    this.ignite = ignite;
    this.store = store;
  }

  /**
   * @param cache kept binary
   */
  CacheSchema of(IgniteCache<Object, Object> cache) {
    return known(cache).orElseThrow(() -> unknown(cache.getName()));
  }

  /** Empty when nothing tells the columns: an empty cache without metadata. */
  Optional<CacheSchema> known(IgniteCache<Object, Object> cache) {
    List<QueryEntity> entities = entities(cache);
    String name = cache.getName();
    Optional<Schema> stored = store.get(name).filter(schema -> agrees(schema, entities));
    if (stored.isPresent()) {
      return Optional.of(ofStored(name, stored.get(), () -> keyOfName(cache, null)));
    }
    if (!entities.isEmpty()) {
      Optional<CacheSchema> found = ofEntities(cache, entities);
      if (found.isPresent()) {
        return found;
      }
    }
    return peek(cache).map(row -> ofRow(cache, row));
  }

  /** The name of the binary type of the cache's values; empty when nothing tells it. */
  Optional<String> objectType(IgniteCache<Object, Object> cache) {
    Optional<String> told = entities(cache).stream().map(QueryEntity::findValueType).findFirst();
    return told.isPresent() ? told : peek(cache).map(row -> typeName(row.getValue()));
  }

  /**
   * A stored schema that the cache's query entity contradicts is that of an earlier cache of the
   * same name.
   */
  static boolean agrees(Schema schema, List<QueryEntity> entities) {
    if (entities.size() != 1) {
      return entities.isEmpty();
    }
    Map<String, String> fields = entities.get(0).getFields();
    return schema.getFields().stream()
        .filter(field -> !field.getName().equals(CacheSchema.KEY))
        .allMatch(
            field -> {
              String stored =
                  ColumnTypes.ofField(field).map(type -> type.storage().getName()).orElse(null);
              return Objects.equals(stored, fields.get(field.getName()));
            });
  }

  static CacheSchema ofStored(String cache, Schema schema, Supplier<CacheColumn> keyWhenNotStored) {
    List<CacheColumn> columns = new ArrayList<>();
    CacheColumn key = null;
    for (Field field : schema.getFields()) {
      ColumnType type = ColumnTypes.ofField(field).orElse(null);
      String name = field.getName();
      if (name.equals(CacheSchema.KEY)) {
        key = CacheColumn.of(name, type, field.getType().toString(), RowField::key);
      } else {
        boolean inKey = CacheSchema.isInKey(field);
        Supplier<RowField> rowField = () -> inKey ? RowField.ofKey(name) : RowField.ofValue(name);
        columns.add(CacheColumn.of(name, type, field.getType().toString(), rowField));
      }
    }
    CacheColumn stored = key;
    return new CacheSchema(
        cache,
        columns,
        Collections.emptyList(),
        true,
        stored == null ? keyWhenNotStored : () -> stored);
  }

  private Optional<CacheSchema> ofEntities(
      IgniteCache<Object, Object> cache, List<QueryEntity> entities) {
    if (entities.size() > 1) {
      throw new TensorFlowIgniteException(
          ErrorCode.UNSUPPORTED_TYPE,
          String.format(
              "cache %s holds values of %d types %s; the rows of a cache must be of one type; keep"
                  + " each type in a cache of its own",
              cache.getName(),
              entities.size(),
              entities.stream().map(QueryEntity::findValueType).collect(Collectors.toList())));
    }
    QueryEntity entity = entities.get(0);
    String valueType = entity.findValueType();
    Supplier<CacheColumn> key = () -> keyOfName(cache, entity.findKeyType());
    if (valueType != null && ColumnTypes.ofName(valueType).isPresent()) {
      return Optional.of(ofValue(cache.getName(), valueType, key));
    }
    List<CacheColumn> onRequest = ofBinaryType(valueType);
    List<CacheColumn> columns = ofFields(entity);
    if (columns.isEmpty()) {
      columns = onRequest;
    }
    return columns.isEmpty()
        ? Optional.empty()
        : Optional.of(new CacheSchema(cache.getName(), columns, onRequest, false, key));
  }

  static List<CacheColumn> ofFields(QueryEntity entity) {
    List<CacheColumn> columns = new ArrayList<>();
    Collection<String> keyFields =
        entity.getKeyFields() == null ? Collections.emptySet() : entity.getKeyFields();
    entity
        .getFields()
        .forEach(
            (name, className) -> {
              Supplier<RowField> rowField;
              if (name.equals(entity.getKeyFieldName())) {
                rowField = RowField::key;
              } else if (name.equals(entity.getValueFieldName())) {
                rowField = RowField::value;
              } else if (keyFields.contains(name)) {
                rowField = () -> RowField.ofKey(name);
              } else {
                rowField = () -> RowField.ofValue(name);
              }
              // A dotted name is a path into a nested object, which has no column yet.
              ColumnType type =
                  name.indexOf('.') < 0 ? ColumnTypes.ofName(className).orElse(null) : null;
              columns.add(CacheColumn.of(name, type, className, rowField));
            });
    return columns;
  }

  private CacheSchema ofRow(IgniteCache<Object, Object> cache, Cache.Entry<Object, Object> row) {
    String name = cache.getName();
    Supplier<CacheColumn> key = () -> keyOfName(cache, typeName(row.getKey()));
    String valueType = typeName(row.getValue());
    if (!(row.getValue() instanceof BinaryObject)) {
      return ofValue(name, valueType, key);
    }
    List<CacheColumn> columns = ofBinaryType(valueType);
    if (columns.isEmpty()) {
      throw new TensorFlowIgniteException(
          ErrorCode.SCHEMA_UNKNOWN,
          String.format(
              "cache %s holds objects of type %s, of which the cluster knows no field; columns come"
                  + " from fields that Ignite's binary metadata or query entities tell; give the"
                  + " cache a query entity",
              name, valueType));
    }
    return new CacheSchema(name, columns, Collections.emptyList(), false, key);
  }

  private static CacheSchema ofValue(String cache, String typeName, Supplier<CacheColumn> key) {
    ColumnType type = ColumnTypes.ofName(typeName).orElse(null);
    CacheColumn value = CacheColumn.of(CacheSchema.VALUE, type, typeName, RowField::value);
    return new CacheSchema(
        cache, Collections.singletonList(value), Collections.emptyList(), false, key);
  }

  /** The fields of a binary type; none when the cluster does not know it. */
  private List<CacheColumn> ofBinaryType(String typeName) {
    BinaryType type = typeName == null ? null : ignite.binary().type(typeName);
    if (type == null) {
      return Collections.emptyList();
    }
    return type.fieldNames().stream()
        .map(
            name -> {
              String fieldType = type.fieldTypeName(name);
              ColumnType known = ColumnTypes.ofName(fieldType).orElse(null);
              Supplier<RowField> rowField = () -> RowField.ofValue(name);
              return CacheColumn.of(name, known, fieldType, rowField);
            })
        .collect(Collectors.toList());
  }

  /** Without a name, a row tells it. */
  private static CacheColumn keyOfName(IgniteCache<Object, Object> cache, String typeName) {
    if (typeName == null) {
      return keyOfName(
          cache,
          peek(cache)
              .map(row -> typeName(row.getKey()))
              .orElseThrow(() -> unknown(cache.getName())));
    }
    ColumnType type = ColumnTypes.ofName(typeName).orElse(null);
    return CacheColumn.of(CacheSchema.KEY, type, typeName, RowField::key);
  }

  @SuppressWarnings("unchecked")
  private static List<QueryEntity> entities(IgniteCache<Object, Object> cache) {
    CacheConfiguration<Object, Object> configuration =
        cache.getConfiguration(CacheConfiguration.class);
    return new ArrayList<>(configuration.getQueryEntities());
  }

  private static String typeName(Object value) {
    return value instanceof BinaryObject
        ? ((BinaryObject) value).type().typeName()
        : value.getClass().getName();
  }

  /**
   * A row of this node, else of any: a scan of all nodes that ends early leaves errors in their
   * logs.
   */
  private static Optional<Cache.Entry<Object, Object>> peek(IgniteCache<Object, Object> cache) {
    Optional<Cache.Entry<Object, Object>> here = peek(cache, true);
    return here.isPresent() ? here : peek(cache, false);
  }

  private static Optional<Cache.Entry<Object, Object>> peek(
      IgniteCache<Object, Object> cache, boolean local) {
    ScanQuery<Object, Object> query = new ScanQuery<>();
    query.setPageSize(1);
    query.setLocal(local);
    try (QueryCursor<Cache.Entry<Object, Object>> rows = cache.query(query)) {
      for (Cache.Entry<Object, Object> row : rows) {
        return Optional.of(row);
      }
    }
    return Optional.empty();
  }

  private static TensorFlowIgniteException unknown(String cache) {
    return new TensorFlowIgniteException(
        ErrorCode.SCHEMA_UNKNOWN,
        String.format(
            "cache %s is empty and nothing tells its columns; they come from the schema of a load,"
                + " from query entities (SQL) or from the type of a row; put a row, or load it with"
                + " tensorflow_ignite.load",
            cache));
  }
}
