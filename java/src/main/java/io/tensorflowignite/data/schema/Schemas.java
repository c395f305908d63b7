package io.tensorflowignite.data.schema;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Marks;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.v1.ErrorCode;
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
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryType;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * Learns the columns of a cache: from the Arrow schema stored when it was loaded, else from its
 * query entities (SQL), else from the cluster's metadata of its values' binary types. Rows are
 * looked at for the names of these types, and for what no metadata tell.
 */
public final class Schemas {
  private final Ignite ignite;
  private final SchemaStore store;

  public Schemas(Ignite ignite, SchemaStore store) {
    this.ignite = ignite;
    this.store = store;
  }

  /**
   * The columns to read, the key first when it is asked for, with the types that they arrive in.
   *
   * @param cache kept binary
   * @param names empty: every column
   */
  public List<CacheColumn> select(
      IgniteCache<Object, Object> cache, List<String> names, boolean withKey, WantedTypes wanted) {
    String name = cache.getName();
    Optional<CacheSchema> schema = wanted.isResolved() ? told(cache) : known(cache);
    CacheSchema found = schema.or(() -> wanted.columns(name)).orElseThrow(() -> unknown(name));
    found.requireColumns(wanted.names());
    List<CacheColumn> selected = found.select(names, withKey);
    List<CacheColumn> columns = new ArrayList<>();
    selected.forEach(column -> columns.add(wanted.apply(name, column)));
    return wanted.isResolved() ? columns : lookedAt(cache, columns);
  }

  /** Empty when nothing tells the columns: an empty cache without metadata. */
  public Optional<CacheSchema> known(IgniteCache<Object, Object> cache) {
    Optional<CacheSchema> told = told(cache);
    return told.isPresent() ? told : ofRows(cache);
  }

  /** What is known without a look at rows. */
  private Optional<CacheSchema> told(IgniteCache<Object, Object> cache) {
    List<QueryEntity> entities = entities(cache);
    String name = cache.getName();
    Optional<Schema> stored = store.get(name).filter(schema -> agrees(schema, entities));
    if (stored.isPresent()) {
      return Optional.of(ofStored(name, stored.get(), () -> keyOfEntities(cache, entities)));
    }
    return ofEntities(cache, entities);
  }

  /** The name of the binary type of the cache's values; empty when nothing tells it. */
  public Optional<String> objectType(IgniteCache<Object, Object> cache) {
    Optional<String> told = entities(cache).stream().map(QueryEntity::findValueType).findFirst();
    return told.isPresent() ? told : new RowLook(cache).values().objectTypes.stream().findFirst();
  }

  /**
   * A stored schema that the cache's query entity contradicts is that of an earlier cache of the
   * same name.
   */
  public static boolean agrees(Schema schema, List<QueryEntity> entities) {
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

  public static CacheSchema ofStored(
      String cache, Schema schema, Supplier<CacheColumn> keyWhenNotStored) {
    List<CacheColumn> columns = new ArrayList<>();
    CacheColumn key = null;
    for (Field field : schema.getFields()) {
      String name = field.getName();
      ColumnType type = ColumnTypes.ofField(field).orElseGet(() -> ColumnTypes.ofAnyName("Object"));
      String typeName = field.getType().toString();
      if (name.equals(CacheSchema.KEY)) {
        key = CacheColumn.of(name, type, typeName, RowField::key);
      } else {
        boolean inKey = CacheSchema.isInKey(field);
        Supplier<RowField> rowField = () -> inKey ? RowField.ofKey(name) : RowField.ofValue(name);
        columns.add(CacheColumn.of(name, type, typeName, rowField));
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

  /** What rows tell of the columns of which metadata do not tell everything. */
  private static List<CacheColumn> lookedAt(
      IgniteCache<Object, Object> cache, List<CacheColumn> columns) {
    List<CacheColumn> open = new ArrayList<>();
    for (CacheColumn column : columns) {
      if (!column.known() || isNamelessEnum(column)) {
        open.add(column);
      }
    }
    if (open.isEmpty()) {
      return columns;
    }
    List<CacheColumn> answered = new ArrayList<>(columns);
    List<Field> seen = new RowLook(cache).types(open);
    for (int i = 0; i < open.size(); i++) {
      CacheColumn column = open.get(i);
      boolean told = CacheColumn.isKnown(seen.get(i));
      if (!told && !column.known()) {
        throw untold(cache.getName(), column, seen.get(i));
      }
      if (told) {
        answered.set(columns.indexOf(column), column.as(seen.get(i), true));
      }
    }
    return answered;
  }

  private static boolean isNamelessEnum(CacheColumn column) {
    return column.strict()
        && Marks.ENUM.marks(column.field())
        && !column.field().getMetadata().containsKey(Marks.NAMES);
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
    // Values of which some are no objects are told by the rows.
    return plain || columns.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new CacheSchema(cache.getName(), union(columns), union(onRequest), false, key));
  }

  private static void add(Map<String, List<CacheColumn>> columns, CacheColumn column) {
    columns.computeIfAbsent(column.name(), added -> new ArrayList<>()).add(column);
  }

  /** One column for each name; where its types differ, rows must tell. */
  private static List<CacheColumn> union(Map<String, List<CacheColumn>> columns) {
    List<CacheColumn> union = new ArrayList<>();
    columns.forEach(
        (name, found) -> {
          CacheColumn first = found.get(0);
          Set<String> types = new LinkedHashSet<>();
          found.forEach(column -> types.add(column.typeName()));
          boolean agree = found.stream().allMatch(column -> column.field().equals(first.field()));
          union.add(
              agree
                  ? first
                  : CacheColumn.of(
                      name,
                      ColumnTypes.ofAnyName("Object"),
                      String.join(" or ", types),
                      first::rowField));
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
    RowLook.Values values = new RowLook(cache).values();
    if (values.objectTypes.isEmpty() && !values.arePlain()) {
      return Optional.empty();
    }
    String name = cache.getName();
    Supplier<CacheColumn> key =
        () -> CacheColumn.of(CacheSchema.KEY, values.keyType(), values.keyName(), RowField::key);
    if (values.objectTypes.isEmpty()) {
      CacheColumn value =
          CacheColumn.of(RowField.VALUE, values.plainType(), values.plainName(), RowField::value);
      return Optional.of(new CacheSchema(name, List.of(value), List.of(), false, key));
    }
    Map<String, List<CacheColumn>> columns = new LinkedHashMap<>();
    values.objectTypes.forEach(type -> ofBinaryType(type).forEach(column -> add(columns, column)));
    if (columns.isEmpty() || values.arePlain()) {
      throw new TensorFlowIgniteException(
          ErrorCode.SCHEMA_UNKNOWN,
          String.format(
              "cache %s holds objects of types %s%s; columns come from fields that Ignite's binary"
                  + " metadata or query entities tell; give the cache a query entity, or keep"
                  + " values that are no objects in a cache of their own",
              name,
              values.objectTypes,
              values.arePlain()
                  ? " and values that are no objects"
                  : ", of which the cluster knows no field"));
    }
    return Optional.of(new CacheSchema(name, union(columns), List.of(), false, key));
  }

  private static CacheSchema ofValue(String cache, String typeName, Supplier<CacheColumn> key) {
    ColumnType type = ColumnTypes.ofAnyName(typeName);
    CacheColumn value = CacheColumn.of(RowField.VALUE, type, typeName, RowField::value);
    return new CacheSchema(
        cache, Collections.singletonList(value), Collections.emptyList(), false, key);
  }

  /** The fields of a binary type; none when the cluster does not know it. */
  private List<CacheColumn> ofBinaryType(String typeName) {
    BinaryType type = typeName == null ? null : ignite.binary().type(typeName);
    if (type == null || type.isEnum()) {
      return Collections.emptyList();
    }
    return type.fieldNames().stream()
        .map(
            name -> {
              String fieldType = type.fieldTypeName(name);
              Supplier<RowField> rowField = () -> RowField.ofValue(name);
              return CacheColumn.of(name, ColumnTypes.ofAnyName(fieldType), fieldType, rowField);
            })
        .collect(Collectors.toList());
  }

  /** Without a type that the table has, its fields tell, and else the rows. */
  private CacheColumn keyOfEntities(IgniteCache<Object, Object> cache, List<QueryEntity> entities) {
    QueryEntity entity = entities.isEmpty() ? null : entities.get(0);
    String typeName = entity == null ? null : entity.findKeyType();
    if (typeName == null) {
      RowLook.Values values = new RowLook(cache).values();
      return CacheColumn.of(CacheSchema.KEY, values.keyType(), values.keyName(), RowField::key);
    }
    ColumnType type = ColumnTypes.ofAnyName(typeName);
    List<CacheColumn> columns = ofBinaryType(typeName);
    List<Field> fields = new ArrayList<>();
    columns.forEach(column -> fields.add(column.field()));
    if (fields.isEmpty()) {
      for (String field : keyFields(entity)) {
        fields.add(type(entity, field).field(field));
      }
    }
    if (!CacheColumn.isKnown(type.shape()) && !fields.isEmpty()) {
      type = new ColumnType(Object.class, typeName, ColumnType.struct(null, fields));
    }
    return CacheColumn.of(CacheSchema.KEY, type, typeName, RowField::key);
  }

  @SuppressWarnings("unchecked")
  private static List<QueryEntity> entities(IgniteCache<Object, Object> cache) {
    CacheConfiguration<Object, Object> configuration =
        cache.getConfiguration(CacheConfiguration.class);
    return new ArrayList<>(configuration.getQueryEntities());
  }

  private static TensorFlowIgniteException untold(String cache, CacheColumn column, Field seen) {
    return new TensorFlowIgniteException(
        ErrorCode.SCHEMA_UNKNOWN,
        String.format(
            "cache %s: column %s is of type %s, and nothing tells what it holds (%s); the types"
                + " inside of objects, collections, maps and Object[] come from up to %d rows; say"
                + " them (schema={\"%s\": ...}), or leave the column out (columns=[...])",
            cache,
            column.name(),
            column.typeName(),
            Conversions.describe(seen),
            RowLook.MAX_ROWS,
            column.name()));
  }

  private static TensorFlowIgniteException unknown(String cache) {
    return new TensorFlowIgniteException(
        ErrorCode.SCHEMA_UNKNOWN,
        String.format(
            "cache %s is empty and nothing tells its columns; they come from the schema of a load,"
                + " from query entities (SQL) or from the types of its rows; put a row, load it"
                + " with tensorflow_ignite.load, or say the types (schema=...)",
            cache));
  }
}
