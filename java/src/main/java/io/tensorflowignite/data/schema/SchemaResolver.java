package io.tensorflowignite.data.schema;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SCHEMA_UNKNOWN;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.LogicalType;
import io.tensorflowignite.data.column.RowField;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryType;
import org.apache.ignite.cache.QueryEntity;

/**
 * Finds the columns of a cache. The first that exists decides: the Arrow schema that a load has
 * stored, the query entities (SQL), the cluster's metadata of the binary types of the values.
 * Sampled rows give the names of these binary types, and column types that are missing in the
 * metadata.
 */
public final class SchemaResolver {
  private final Ignite ignite;
  private final SchemaStore store;

  public SchemaResolver(Ignite ignite, SchemaStore store) {
    this.ignite = ignite;
    this.store = store;
  }

  /**
   * The columns to read, in the types in which they are sent; the key is first if it is requested.
   *
   * @param cache the cache with binary values
   * @param names empty: all columns
   */
  public List<CacheColumn> select(
      IgniteCache<Object, Object> cache,
      List<String> names,
      boolean withKey,
      RequestedTypes types) {
    String name = cache.getName();
    CacheSchema schema =
        (types.isResolved() ? ofMetadata(cache) : resolve(cache))
            .or(() -> types.columns(name))
            .orElseThrow(() -> schemaUnknown(name));
    schema.requireColumns(types.names());
    List<CacheColumn> columns =
        schema.select(names, withKey).stream()
            .map(column -> types.apply(name, column))
            .collect(Collectors.toList());
    if (types.isResolved()) {
      return columns;
    }
    List<CacheColumn> known = sampled(cache, columns);
    NodeZones.requireOne(
        name,
        known.stream().map(column -> column.field).collect(Collectors.toList()),
        ignite.cluster().forDataNodes(name).nodes());
    return known;
  }

  /** The cache's schema; empty for an empty cache without metadata. */
  public Optional<CacheSchema> resolve(IgniteCache<Object, Object> cache) {
    return ofMetadata(cache).or(() -> ofRows(cache));
  }

  private Optional<CacheSchema> ofMetadata(IgniteCache<Object, Object> cache) {
    List<QueryEntity> entities = entities(cache);
    String name = cache.getName();
    return store
        .get(name)
        .filter(schema -> agrees(schema, entities))
        .map(schema -> altered(schema, entities))
        .map(schema -> ofStored(name, schema, () -> keyOfEntities(cache, entities)))
        .or(() -> ofEntities(cache, entities));
  }

  /** The name of the binary type of the cache's values; empty if not known. */
  public Optional<String> objectType(IgniteCache<Object, Object> cache) {
    return entities(cache).stream()
        .map(QueryEntity::findValueType)
        .findFirst()
        .or(() -> new RowSampler(cache).sample().objectTypes.stream().findFirst());
  }

  /**
   * Whether a stored schema agrees with the cache's query entity: they have common columns, and
   * each has the same type in both. Otherwise the schema belongs to an earlier cache of the same
   * name.
   */
  public static boolean agrees(Schema schema, List<QueryEntity> entities) {
    if (entities.size() != 1) {
      return entities.isEmpty();
    }
    Map<String, String> fields = entities.get(0).getFields();
    List<Field> common =
        schema.getFields().stream()
            .filter(field -> fields.containsKey(field.getName()))
            .collect(Collectors.toList());
    Set<String> keys = keyFields(entities.get(0));
    return !common.isEmpty()
        && common.stream().allMatch(f -> CacheSchema.isInKey(f) == keys.contains(f.getName()))
        && common.stream()
            .allMatch(
                field -> {
                  String stored =
                      StoredTypes.of(field).map(type -> type.storage.getName()).orElse(null);
                  return Objects.equals(stored, fields.get(field.getName()));
                });
  }

  /**
   * A stored schema after ALTER TABLE: with the columns that were added, without the removed ones.
   */
  public static Schema altered(Schema schema, List<QueryEntity> entities) {
    if (entities.isEmpty()) {
      return schema;
    }
    QueryEntity entity = entities.get(0);
    Map<String, Field> stored = new LinkedHashMap<>();
    schema.getFields().forEach(field -> stored.put(field.getName(), field));
    List<Field> fields = new ArrayList<>();
    stored.forEach(
        (name, field) -> {
          if (name.equals(CacheSchema.KEY) || entity.getFields().containsKey(name)) {
            fields.add(field);
          }
        });
    for (String name : entity.getFields().keySet()) {
      if (!stored.containsKey(name) && !name.equals(entity.getKeyFieldName())) {
        Field added = type(entity, name).field(name);
        FieldType nullable = new FieldType(true, added.getType(), null, added.getMetadata());
        fields.add(new Field(name, nullable, added.getChildren()));
      }
    }
    return new Schema(fields, schema.getCustomMetadata());
  }

  public static CacheSchema ofStored(
      String cache, Schema schema, Supplier<CacheColumn> keyWhenNotStored) {
    List<CacheColumn> columns = new ArrayList<>();
    CacheColumn key = null;
    for (Field field : schema.getFields()) {
      String name = field.getName();
      ColumnType type = StoredTypes.of(field).orElseGet(ColumnTypes::unknown);
      String typeName = field.getType().toString();
      if (name.equals(CacheSchema.KEY)) {
        key = CacheColumn.of(name, type, typeName, RowField::key);
      } else {
        boolean inKey = CacheSchema.isInKey(field);
        Supplier<RowField> rowField = () -> RowField.of(name, inKey);
        columns.add(CacheColumn.of(name, type, typeName, rowField));
      }
    }
    CacheColumn stored = key;
    return new CacheSchema(
        cache, columns, List.of(), true, stored == null ? keyWhenNotStored : () -> stored);
  }

  /** The columns; their types come from sampled rows where the metadata have no type. */
  private static List<CacheColumn> sampled(
      IgniteCache<Object, Object> cache, List<CacheColumn> columns) {
    List<CacheColumn> incomplete = new ArrayList<>();
    for (CacheColumn column : columns) {
      if (!column.isKnown() || isNamelessEnum(column)) {
        incomplete.add(column);
      }
    }
    if (incomplete.isEmpty()) {
      return columns;
    }
    List<CacheColumn> completed = new ArrayList<>(columns);
    List<Field> types = new RowSampler(cache).types(incomplete);
    for (int i = 0; i < incomplete.size(); i++) {
      CacheColumn column = incomplete.get(i);
      if (CacheColumn.isKnown(types.get(i))) {
        completed.set(columns.indexOf(column), column.as(types.get(i), true));
      } else if (!column.isKnown()) {
        throw typeUnknown(cache.getName(), column, types.get(i));
      }
    }
    return completed;
  }

  private static boolean isNamelessEnum(CacheColumn column) {
    return column.strict
        && LogicalType.ENUM.matches(column.field)
        && !column.field.getMetadata().containsKey(LogicalType.NAMES);
  }

  private Optional<CacheSchema> ofEntities(
      IgniteCache<Object, Object> cache, List<QueryEntity> entities) {
    Map<String, List<CacheColumn>> columns = new LinkedHashMap<>();
    Map<String, List<CacheColumn>> onRequest = new LinkedHashMap<>();
    boolean plain = false;
    for (QueryEntity entity : entities) {
      String valueType = entity.findValueType();
      plain |= valueType != null && ColumnTypes.ofName(valueType).isPresent();
      List<CacheColumn> ofType = ofBinaryType(valueType);
      List<CacheColumn> ofFields = ofFields(entity);
      ofFields = ofFields.isEmpty() ? ofType : ofFields;
      ofFields.forEach(column -> add(columns, column));
      ofType.forEach(column -> add(onRequest, column));
    }
    Supplier<CacheColumn> key = () -> keyOfEntities(cache, entities);
    if (plain && entities.size() == 1) {
      return Optional.of(ofValue(cache.getName(), entities.get(0).findValueType(), key));
    }
    // If some values are not objects, only rows have the columns.
    return plain || columns.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new CacheSchema(cache.getName(), union(columns), union(onRequest), false, key));
  }

  private static void add(Map<String, List<CacheColumn>> columns, CacheColumn column) {
    columns.computeIfAbsent(column.name, added -> new ArrayList<>()).add(column);
  }

  /** One column for each name. If its types differ, the type is unknown until rows are sampled. */
  private static List<CacheColumn> union(Map<String, List<CacheColumn>> columns) {
    List<CacheColumn> union = new ArrayList<>();
    columns.forEach(
        (name, found) -> {
          CacheColumn first = found.get(0);
          Set<String> types = new LinkedHashSet<>();
          found.forEach(column -> types.add(column.typeName));
          boolean agree = found.stream().allMatch(column -> column.field.equals(first.field));
          union.add(
              agree
                  ? first
                  : CacheColumn.of(
                      name, ColumnTypes.unknown(), String.join(" or ", types), first::rowField));
        });
    return union;
  }

  public static List<CacheColumn> ofFields(QueryEntity entity) {
    List<CacheColumn> columns = new ArrayList<>();
    Set<String> keyFields = keyFields(entity);
    entity
        .getFields()
        .forEach(
            (name, className) -> {
              String root = name.split("\\.")[0];
              boolean inKey = keyFields.contains(name) || keyFields.contains(root);
              Supplier<RowField> rowField;
              if (name.equals(entity.getKeyFieldName())) {
                rowField = RowField::key;
              } else if (name.equals(entity.getValueFieldName())) {
                rowField = RowField::value;
              } else {
                rowField = () -> RowField.ofPath(name, inKey);
              }
              columns.add(CacheColumn.of(name, type(entity, name), className, rowField));
            });
    return columns;
  }

  private static Set<String> keyFields(QueryEntity entity) {
    return entity.getKeyFields() == null ? Collections.emptySet() : entity.getKeyFields();
  }

  private static ColumnType type(QueryEntity entity, String field) {
    String className = entity.getFields().get(field);
    if (!className.equals(BigDecimal.class.getName())) {
      return ColumnTypes.ofAnyName(className);
    }
    Map<String, Integer> precision = entity.getFieldsPrecision();
    Map<String, Integer> scale = entity.getFieldsScale();
    return ColumnTypes.decimal(
        precision == null ? null : precision.get(field), scale == null ? null : scale.get(field));
  }

  private Optional<CacheSchema> ofRows(IgniteCache<Object, Object> cache) {
    RowSampler.Rows rows = new RowSampler(cache).sample();
    if (rows.objectTypes.isEmpty() && !rows.haveNonObjects()) {
      return Optional.empty();
    }
    String name = cache.getName();
    if (rows.objectTypes.isEmpty()) {
      return Optional.of(new CacheSchema(name, List.of(rows.value()), List.of(), false, rows::key));
    }
    Map<String, List<CacheColumn>> columns = new LinkedHashMap<>();
    rows.objectTypes.forEach(type -> ofBinaryType(type).forEach(column -> add(columns, column)));
    if (columns.isEmpty() || rows.haveNonObjects()) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_SCHEMA_UNKNOWN,
          "cache %s holds objects of types %s%s; columns are the fields in Ignite's binary metadata"
              + " or query entities; give the cache a query entity, or keep values that are not"
              + " objects in another cache",
          name,
          rows.objectTypes,
          rows.haveNonObjects()
              ? " and values that are not objects"
              : ", whose fields the cluster does not know");
    }
    return Optional.of(new CacheSchema(name, union(columns), List.of(), false, rows::key));
  }

  private static CacheSchema ofValue(String cache, String typeName, Supplier<CacheColumn> key) {
    ColumnType type = ColumnTypes.ofAnyName(typeName);
    CacheColumn value = CacheColumn.of(RowField.VALUE, type, typeName, RowField::value);
    return new CacheSchema(cache, List.of(value), List.of(), false, key);
  }

  /** The fields of a binary type; none if the cluster has no metadata of the type. */
  private List<CacheColumn> ofBinaryType(String typeName) {
    BinaryType type = typeName == null ? null : ignite.binary().type(typeName);
    if (type == null || type.isEnum()) {
      return List.of();
    }
    return type.fieldNames().stream()
        .map(
            name -> {
              String fieldType = type.fieldTypeName(name);
              Supplier<RowField> rowField = () -> RowField.of(name, false);
              return CacheColumn.of(name, ColumnTypes.ofAnyName(fieldType), fieldType, rowField);
            })
        .collect(Collectors.toList());
  }

  /** The key column. Its type is from the table of types, or its fields, or the rows. */
  private CacheColumn keyOfEntities(IgniteCache<Object, Object> cache, List<QueryEntity> entities) {
    QueryEntity entity = entities.isEmpty() ? null : entities.get(0);
    String typeName = entity == null ? null : entity.findKeyType();
    if (typeName == null) {
      return new RowSampler(cache).sample().key();
    }
    ColumnType type = ColumnTypes.ofAnyName(typeName);
    List<CacheColumn> columns = ofBinaryType(typeName);
    List<Field> fields = new ArrayList<>();
    columns.forEach(column -> fields.add(column.field));
    if (fields.isEmpty()) {
      for (String field : keyFields(entity)) {
        fields.add(type(entity, field).field(field));
      }
    }
    if (!CacheColumn.isKnown(type.shape) && !fields.isEmpty()) {
      type = new ColumnType(Object.class, typeName, ColumnType.struct(null, fields));
    }
    return CacheColumn.of(CacheSchema.KEY, type, typeName, RowField::key);
  }

  private List<QueryEntity> entities(IgniteCache<Object, Object> cache) {
    return CacheEntities.of(ignite, cache.getName());
  }

  private static TensorFlowIgniteException typeUnknown(
      String cache, CacheColumn column, Field sampled) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_SCHEMA_UNKNOWN,
        "cache %s: column %s is of type %s, and the types inside it are not known (%s); the types"
            + " inside objects, collections, maps and Object[] come from up to %d rows; give them"
            + " (schema={\"%s\": ...}), or leave the column out (columns=[...])",
        cache,
        column.name,
        column.typeName,
        Conversions.describe(sampled),
        RowSampler.MAX_ROWS,
        column.name);
  }

  private static TensorFlowIgniteException schemaUnknown(String cache) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_SCHEMA_UNKNOWN,
        "cache %s is empty, and its columns are not known; columns come from the schema of a load,"
            + " from query entities (SQL) or from the types of the rows; put a row, load the cache"
            + " with tensorflow_ignite.load, or give the types (schema=...)",
        cache);
  }
}
