package io.tensorflowignite.data.sql;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.WantedTypes;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Parameter;
import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/** The rows that a command's condition or SELECT asks for: their columns, number and reader. */
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

  /** Empty when the command has neither. */
  public static Optional<SqlSource> of(IgniteCache<Object, Object> cache, ReadCommand command) {
    String where = command.getWhere();
    String sql = command.getSql();
    requireAgreeing(command);
    if (where.isEmpty() && sql.isEmpty()) {
      return Optional.empty();
    }
    SqlCatalog catalog = new SqlCatalog(cache);
    RowSelect select =
        sql.isEmpty()
            ? RowSelect.ofCondition(catalog.table(), where)
            : RowSelect.ofStatement(catalog.table(), sql);
    select.requireParameters(command.getParametersCount());
    Object[] parameters = command.getParametersList().stream().map(SqlSource::value).toArray();
    return Optional.of(new SqlSource(cache, select, parameters));
  }

  /** Whether the columns are those of a SELECT; else they are the cache's. */
  public boolean hasColumns() {
    return !select.columns().isEmpty();
  }

  /**
   * The columns of the SELECT, in its order.
   *
   * @param wanted the types that the reader asks for, by the names of the SELECT
   * @param stored tells a field of the cache, where SQL does not tell its type
   */
  public List<CacheColumn> columns(WantedTypes wanted, Function<String, CacheColumn> stored) {
    List<CacheColumn> columns = new ArrayList<>();
    SqlCatalog catalog = new SqlCatalog(cache);
    int last = metadata.size() - 1;
    int starWidth = last - select.columns().size() + 1;
    for (SelectColumn column : select.columns()) {
      int width = column.isStar() ? starWidth : 1;
      for (int i = 0; i < width; i++) {
        int at = columns.size();
        GridQueryFieldMetadata told = metadata.get(at);
        String source = column.isStar() ? told.fieldName() : column.source();
        String field = source == null ? null : catalog.field(source);
        String name = column.isStar() ? field : column.name();
        boolean untold = field != null && !wanted.isResolved() && SqlColumns.isUntold(told);
        CacheColumn found = SqlColumns.of(name, told, at, untold ? stored.apply(field) : null);
        columns.add(known(wanted.apply(cache.getName(), found)));
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
    SqlStorage storage = hasColumns() ? null : new SqlCatalog(cache).storage();
    return new SqlReader(cache, queries, owners, storage);
  }

  private CacheColumn known(CacheColumn column) {
    if (column.known()) {
      return column;
    }
    throw new TensorFlowIgniteException(
        ErrorCode.UNSUPPORTED_TYPE,
        String.format(
            "column %s of the SELECT over cache %s is of type %s, which does not tell how it is"
                + " laid out; a SELECT's columns are of SQL's types or fields of the cache; say its"
                + " type with schema=, or leave it out",
            column.name(), cache.getName(), column.typeName()));
  }

  private void requireDistinct(List<CacheColumn> columns) {
    Set<String> seen = new HashSet<>();
    for (CacheColumn column : columns) {
      if (!seen.add(column.name())) {
        throw SqlInvalid.twice(select.what(), column.name());
      }
    }
  }

  private static void requireAgreeing(ReadCommand command) {
    boolean where = !command.getWhere().isEmpty();
    boolean sql = !command.getSql().isEmpty();
    String what = null;
    if (where && sql) {
      what = "both where and sql; a SELECT has its own condition; write it there";
    } else if (sql && (command.getColumnsCount() > 0 || command.getKey())) {
      what = "sql and columns, or the key; a SELECT names its columns itself; name them there";
    } else if (!where && !sql && command.getParametersCount() > 0) {
      what = "parameters but neither where nor sql; they fill question marks; write a condition";
    }
    if (what != null) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          "the command for cache " + command.getCache() + " has " + what);
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
}
