package io.tensorflowignite.data.sql;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.RequestedTypes;
import io.tensorflowignite.v1.Parameter;
import io.tensorflowignite.v1.ReadCommand;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/** The rows that a command's condition or SELECT selects: their columns, number and reader. */
public final class SqlSource {
  private final IgniteCache<Object, Object> cache;
  private final RowSelect select;
  private final SqlQueries queries;
  private final List<GridQueryFieldMetadata> metadata;

  private SqlSource(IgniteCache<Object, Object> cache, RowSelect select, Object[] parameters) {
    this.cache = cache;
    this.select = select;
    queries = new SqlQueries(cache, select, parameters);
    metadata = queries.metadata();
  }

  /** Empty if the command has neither a condition nor a SELECT. */
  public static Optional<SqlSource> of(IgniteCache<Object, Object> cache, ReadCommand command) {
    String where = command.getWhere();
    String sql = command.getSql();
    requireConsistent(command);
    if (where.isEmpty() && sql.isEmpty()) {
      return Optional.empty();
    }
    SqlTable table = new SqlCatalog(cache).table();
    Object[] parameters = command.getParametersList().stream().map(SqlSource::value).toArray();
    RowSelect select =
        sql.isEmpty()
            ? SelectRules.condition(table, where, parameters)
            : SelectRules.statement(table, sql, parameters);
    select.requireParameters(parameters.length);
    return Optional.of(new SqlSource(cache, select, parameters));
  }

  /** Whether a SELECT defines the columns; otherwise they are the cache's. */
  public boolean hasColumns() {
    return !select.columns().isEmpty();
  }

  /**
   * The columns of the SELECT, in its order.
   *
   * @param types the requested types, by the names of the SELECT
   * @param stored returns a field of the cache; called for fields whose type SQL does not have
   */
  public List<CacheColumn> columns(RequestedTypes types, Function<String, CacheColumn> stored) {
    List<CacheColumn> columns = new ArrayList<>();
    SqlCatalog catalog = new SqlCatalog(cache);
    int last = metadata.size() - 1;
    int starWidth = last - select.columns().size() + 1;
    for (SelectColumn column : select.columns()) {
      int width = column.isStar() ? starWidth : 1;
      for (int i = 0; i < width; i++) {
        int at = columns.size();
        GridQueryFieldMetadata declared = metadata.get(at);
        String source = column.isStar() ? declared.fieldName() : column.source();
        String field = source == null ? null : catalog.field(source);
        String name = column.isStar() ? field : column.name();
        boolean unknown = field != null && !types.isResolved() && hasUnknownType(declared);
        CacheColumn found = column(name, declared, at, unknown ? stored.apply(field) : null);
        columns.add(requireKnown(types.apply(cache.getName(), found)));
      }
    }
    requireDistinct(columns);
    return columns;
  }

  /** Rows in the partitions' primary copies, counted by their owners. */
  public long count(List<Integer> partitions, PartitionOwners owners) {
    return queries.count(partitions, owners);
  }

  public RowReader reader(PartitionOwners owners) {
    SqlValueConversion conversion = hasColumns() ? null : new SqlCatalog(cache).conversion();
    return new SqlReader(cache, queries, owners, conversion);
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
        column.name(),
        cache.getName(),
        column.typeName());
  }

  private void requireDistinct(List<CacheColumn> columns) {
    Set<String> names = new HashSet<>();
    for (CacheColumn column : columns) {
      if (!names.add(column.name())) {
        throw SqlErrors.twice(select.text(), column.name());
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
      throw new TensorFlowIgniteException(
          ERROR_CODE_INVALID_REQUEST,
          "the command for cache " + command.getCache() + " has " + problem);
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
  private static boolean hasUnknownType(GridQueryFieldMetadata metadata) {
    return metadata.fieldTypeName().equals(Object.class.getName());
  }

  /**
   * @param at the column's index in the rows
   * @param stored the cache's field, if SQL has no type for its values; else null
   */
  private static CacheColumn column(
      String name, GridQueryFieldMetadata metadata, int at, CacheColumn stored) {
    return stored == null
        ? CacheColumn.of(name, type(metadata), metadata.fieldTypeName(), () -> cell(at))
        : stored.at(name, () -> cell(at));
  }

  private static ColumnType type(GridQueryFieldMetadata metadata) {
    return metadata.fieldTypeName().equals(BigDecimal.class.getName())
        ? ColumnTypes.decimal(metadata.precision(), metadata.scale())
        : ColumnTypes.ofAnyName(metadata.fieldTypeName());
  }

  private static RowField cell(int at) {
    return (key, row) -> ((List<?>) row).get(at);
  }
}
