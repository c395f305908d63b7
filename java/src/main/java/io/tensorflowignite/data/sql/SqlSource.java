package io.tensorflowignite.data.sql;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.PartitionPin;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.NodeZones;
import io.tensorflowignite.data.schema.RequestedTypes;
import io.tensorflowignite.ignite.SqlColumn;
import io.tensorflowignite.v1.Parameter;
import io.tensorflowignite.v1.ReadCommand;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.QueryEntity;

/** The rows that a command's condition or SELECT selects: their columns, number and reader. */
public final class SqlSource {
  /** Of a decimal of 128 bits. */
  private static final int MAX_PRECISION = 38;

  private final Ignite ignite;
  private final IgniteCache<Object, Object> cache;
  private final RowSelect select;

  /** The caches of which a SELECT reads the same partitions as of its own, on the same nodes. */
  private final Map<IgniteCache<Object, Object>, PartitionOwners> partitioned =
      new LinkedHashMap<>();

  /** The caches of which a SELECT reads all rows on each node. */
  private final Map<IgniteCache<Object, Object>, PartitionOwners> replicated =
      new LinkedHashMap<>();

  private final SqlQueries queries;
  private final List<SqlColumn> metadata;

  private SqlSource(
      Ignite ignite, UUID localNode, IgniteCache<Object, Object> cache, RowSelect select) {
    this.ignite = ignite;
    this.cache = cache;
    this.select = select;
    Set<String> names = new HashSet<>(Set.of(cache.getName()));
    for (SqlTable table : select.others()) {
      if (names.add(table.cache)) {
        (table.affinity.isReplicated() ? replicated : partitioned)
            .put(
                new CacheLookup(ignite).binary(table.cache),
                new PartitionOwners(ignite, localNode, table.cache));
      }
    }
    select.requireBounded(this::rowsHere, SqlQueries.maxHeld());
    queries = new SqlQueries(cache, select, select.values(), SqlQueries.maxHeld());
    metadata = queries.metadata();
  }

  /**
   * Empty if the command has neither a condition nor a SELECT.
   *
   * @param authorize throws unless the caller may read a cache; called for each other one that the
   *     SELECT reads
   */
  public static Optional<SqlSource> of(
      Ignite ignite,
      UUID localNode,
      IgniteCache<Object, Object> cache,
      ReadCommand command,
      Consumer<String> authorize) {
    String where = command.getWhere();
    String sql = command.getSql();
    requireConsistent(command);
    if (where.isEmpty() && sql.isEmpty()) {
      return Optional.empty();
    }
    SqlCatalog catalog = new SqlCatalog(ignite, cache);
    SqlTable table = catalog.table();
    // Each node compares the days of its own time zone, and sends them.
    NodeZones.requireOneFor(
        cache.getName(),
        table.types,
        where + sql,
        ignite.cluster().forDataNodes(cache.getName()).nodes());
    Object[] parameters = command.getParametersList().stream().map(SqlSource::value).toArray();
    RowSelect select =
        sql.isEmpty()
            ? SelectRules.condition(table, where, parameters)
            : SelectRules.statement(
                table,
                (schema, name) -> catalog.find(table.schema, schema, name, authorize),
                sql,
                parameters);
    select.requireParameters(parameters.length);
    select.zoned.ifPresent(part -> NodeZones.requireOneOfPart(ignite, cache.getName(), part));
    return Optional.of(new SqlSource(ignite, localNode, cache, select));
  }

  /** Whether a SELECT defines the columns; otherwise they are the cache's. */
  public boolean hasColumns() {
    return !select.columns().isEmpty();
  }

  /**
   * The columns of the SELECT, in its order.
   *
   * @param types the requested types, by the names of the SELECT
   * @param stored returns a field of a cache; called for fields whose type SQL does not have
   */
  public List<CacheColumn> columns(
      RequestedTypes types, BiFunction<IgniteCache<Object, Object>, String, CacheColumn> stored) {
    List<CacheColumn> columns = new ArrayList<>();
    int last = metadata.size() - 1;
    int starWidth = last - select.columns().size() + 1;
    for (RowSelect.Column column : select.columns()) {
      int width = column.isStar() ? starWidth : 1;
      IgniteCache<Object, Object> owner = owner(column);
      SqlCatalog catalog = new SqlCatalog(ignite, owner);
      for (int i = 0; i < width; i++) {
        int at = columns.size();
        SqlColumn declared = metadata.get(at);
        String source = column.isStar() ? declared.name() : column.source;
        String field = source == null ? null : catalog.field(source);
        String name = column.isStar() ? field : column.name;
        boolean unknown = field != null && !types.isResolved() && hasUnknownType(declared);
        CacheColumn found =
            column(
                name,
                declared,
                className(declared, column, source, catalog),
                at,
                source == null,
                unknown ? stored.apply(owner, field) : null);
        columns.add(requireKnown(types.apply(cache.getName(), found)));
      }
    }
    requireDistinct(columns);
    requireColumns(columns, types.names());
    return columns;
  }

  /** The other caches that a SELECT reads. */
  public List<String> others() {
    return Stream.concat(partitioned.keySet().stream(), replicated.keySet().stream())
        .map(IgniteCache::getName)
        .collect(Collectors.toList());
  }

  /** The owners of the partitions of other caches that the same nodes must own. */
  public List<PartitionOwners> otherOwners() {
    return List.copyOf(partitioned.values());
  }

  /** The partitions that Ignite does not read, of some other cache. */
  public List<Integer> unreadable(CacheLosses losses) {
    return partitioned.keySet().stream()
        .flatMap(other -> losses.remembered(other.getName()).stream())
        .collect(Collectors.toList());
  }

  /**
   * Throws if rows of another cache are lost that rows of these partitions may belong to: a
   * partition without a copy, or any of a REPLICATED cache.
   */
  public void requireWhole(CacheLosses losses, List<Integer> partitions) {
    partitioned.keySet().forEach(other -> losses.requireWhole(other.getName(), partitions));
    replicated.forEach(
        (other, owners) -> losses.requireWhole(other.getName(), owners.resolve(List.of())));
  }

  /** Keeps the rows of other caches that the SELECT reads on this node. */
  Pins pin(List<Integer> partitions) {
    Pins pins = new Pins();
    try {
      partitioned.forEach(
          (other, owners) -> pins.held.add(PartitionPin.of(other, partitions, owners)));
      replicated.forEach((other, owners) -> pins.held.add(PartitionPin.whole(other, owners)));
    } catch (RuntimeException failure) {
      pins.close();
      throw failure;
    }
    return pins;
  }

  /** Rows that stay on this node while this is open. */
  static final class Pins implements AutoCloseable {
    private final List<PartitionPin> held = new ArrayList<>();

    @Override
    public void close() {
      held.forEach(PartitionPin::close);
    }
  }

  /** Throws if partitions have another owner in one of the caches than in the SELECT's own. */
  private void requireSameOwners(PartitionOwners own, List<Integer> partitions) {
    partitioned.values().forEach(owners -> owners.requireSame(own, partitions));
  }

  /** Rows in the partitions' primary copies, counted by their owners. */
  public long count(List<Integer> partitions, PartitionOwners owners) {
    requireSameOwners(owners, partitions);
    try {
      return queries.count(partitions, owners);
    } catch (RuntimeException failure) {
      // Ignite has other errors for partitions that have moved meanwhile.
      requireSameOwners(owners, partitions);
      throw failure;
    }
  }

  public RowReader reader(PartitionOwners owners) {
    QueryEntity entity = hasColumns() ? null : new SqlCatalog(ignite, cache).entity();
    return new SqlReader(cache, queries, owners, this, entity);
  }

  private long rowsHere(SqlTable table) {
    return new CacheLookup(ignite)
        .binary(table.cache)
        .localSizeLong(CachePeekMode.PRIMARY, CachePeekMode.BACKUP);
  }

  /** The cache whose field a column is. */
  private IgniteCache<Object, Object> owner(RowSelect.Column column) {
    SqlTable table = column.table;
    return table == null || table.cache.equals(cache.getName())
        ? cache
        : new CacheLookup(ignite).binary(table.cache);
  }

  private CacheColumn requireKnown(CacheColumn column) {
    if (column.isKnown()) {
      return column;
    }
    throw TensorFlowIgniteException.of(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "column %s of the SELECT over cache %s is of type %s, whose layout is not known; a column"
            + " of a SELECT is of a type of SQL or a field of the cache; give its type with"
            + " schema=, or remove the column from the SELECT",
        column.name,
        cache.getName(),
        column.typeName);
  }

  private void requireDistinct(List<CacheColumn> columns) {
    Set<String> names = new HashSet<>();
    for (CacheColumn column : columns) {
      if (!names.add(column.name)) {
        throw SqlText.twice(select.text, column.name);
      }
    }
  }

  /** Throws COLUMN_NOT_FOUND for a requested type whose name is no column's. */
  private void requireColumns(List<CacheColumn> columns, List<String> names) {
    List<String> found = columns.stream().map(column -> column.name).collect(Collectors.toList());
    for (String name : names) {
      if (!found.contains(name)) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_COLUMN_NOT_FOUND,
            "the SELECT over cache %s has no column %s, whose type schema= gives; its columns are"
                + " %s, in the letters of the SELECT; name one of these",
            cache.getName(),
            name,
            found);
      }
    }
  }

  private static void requireConsistent(ReadCommand command) {
    boolean where = !command.getWhere().isEmpty();
    boolean sql = !command.getSql().isEmpty();
    String problem = null;
    if (where && sql) {
      problem = "both where and sql; a SELECT has its own WHERE; write the condition there";
    } else if (sql && (command.getColumnsCount() > 0 || command.getKey())) {
      problem = "sql and columns, or the key; a SELECT names its columns; name them there";
    } else if (!where && !sql && command.getParametersCount() > 0) {
      problem =
          "parameters but neither where nor sql; parameters replace question marks; give where";
    }
    if (problem != null) {
      throw invalidRequest("the command for cache %s has %s", command.getCache(), problem);
    }
  }

  private static Object value(Parameter parameter) {
    switch (parameter.getValueCase()) {
      case BOOL_VALUE:
        return parameter.getBoolValue();
      case INT_VALUE:
        return parameter.getIntValue();
      case DOUBLE_VALUE:
        return parameter.getDoubleValue();
      case STRING_VALUE:
        return parameter.getStringValue();
      case BYTES_VALUE:
        return parameter.getBytesValue().toByteArray();
      default:
        return null;
    }
  }

  /** Whether SQL has no type for the column's values. */
  private static boolean hasUnknownType(SqlColumn metadata) {
    return metadata.className().equals(Object.class.getName());
  }

  /** The class of a column's values; of a UUID, SQL says that it is an array of bytes. */
  private static String className(
      SqlColumn metadata, RowSelect.Column column, String source, SqlCatalog catalog) {
    String name = metadata.className();
    if (!name.equals(byte[].class.getName())) {
      return name;
    }
    String id = UUID.class.getName();
    boolean isId =
        source == null
            ? column.isFixed
            : id.equals(catalog.table().types.get(source.toUpperCase(Locale.ROOT)));
    return isId ? id : name;
  }

  /**
   * @param at the column's index in the rows
   * @param computed whether the column is no field of a cache
   * @param stored the cache's field, if SQL has no type for its values; else null
   */
  private CacheColumn column(
      String name,
      SqlColumn metadata,
      String className,
      int at,
      boolean computed,
      CacheColumn stored) {
    return stored == null
        ? CacheColumn.of(
            name,
            type(metadata, className, computed),
            className,
            () -> computed ? computedCell(at, className) : cell(at))
        : stored.at(name, () -> cell(at));
  }

  /** The type of a column. SQL gives a sum the precision of one of its values. */
  private ColumnType type(SqlColumn metadata, String className, boolean computed) {
    if (!className.equals(BigDecimal.class.getName())) {
      return ColumnTypes.ofAnyName(className);
    }
    boolean mayBeSum = computed && select.readsOtherRows() && metadata.precision() > 0;
    return ColumnTypes.decimal(
        mayBeSum ? (Integer) MAX_PRECISION : metadata.precision(), metadata.scale());
  }

  /**
   * The value of a computed column. SQL says that ROUND, FLOOR and TRUNC of a number have its type,
   * and gives doubles.
   */
  private static RowField computedCell(int at, String className) {
    return (key, row) -> {
      Object value = ((List<?>) row).get(at);
      if (!(value instanceof Double) || !Double.isFinite((Double) value)) {
        return value;
      }
      double number = (Double) value;
      if (className.equals(BigDecimal.class.getName())) {
        return BigDecimal.valueOf(number);
      } else if (className.equals(Long.class.getName()) && number == (long) number) {
        return (long) number;
      }
      boolean isInt = className.equals(Integer.class.getName()) && number == (int) number;
      return isInt ? (Object) (int) number : value;
    };
  }

  private static RowField cell(int at) {
    return (key, row) -> ((List<?>) row).get(at);
  }
}
