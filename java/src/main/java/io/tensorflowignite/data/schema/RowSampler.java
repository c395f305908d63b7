package io.tensorflowignite.data.schema;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.LogicalType;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.RowField;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.cache.Cache;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * Samples rows of a cache for types that no metadata contain: rows of this node, and if they are
 * few also rows of other nodes, so that every node infers the same types.
 */
final class RowSampler {
  static final int MAX_ROWS = 1_000;

  private static final long MAX_BYTES = 64L << 20;
  private static final int MIN_ROWS = 16;

  private final IgniteCache<Object, Object> cache;

  /**
   * @param cache kept binary
   */
  RowSampler(IgniteCache<Object, Object> cache) {
    this.cache = cache;
  }

  /** The keys and values of the sampled rows. */
  static final class Rows {
    /** Names of the binary types of the values that are objects. */
    final Set<String> objectTypes = new LinkedHashSet<>();

    private final Values keys = new Values();
    private final Values nonObjects = new Values();

    /** Whether some values are not objects. */
    boolean haveNonObjects() {
      return nonObjects.type != Object.class;
    }

    CacheColumn key() {
      return keys.column(CacheSchema.KEY, RowField::key);
    }

    /** The column of the values that are not objects. */
    CacheColumn value() {
      return nonObjects.column(RowField.VALUE, RowField::value);
    }

    private void observe(Cache.Entry<Object, Object> row) {
      keys.observe(row.getKey());
      Object value = row.getValue();
      if (value instanceof BinaryObject && !LogicalType.isEnum(value)) {
        try {
          objectTypes.add(InferredType.typeOf((BinaryObject) value).typeName());
          return;
        } catch (MismatchException unregistered) {
          // Only a reader of these values needs their type.
        }
      }
      nonObjects.observe(value);
    }
  }

  private static final class Values {
    private InferredType inferred = new InferredType();
    private Class<?> type = Object.class;

    void observe(Object value) {
      type = value.getClass();
      try {
        if (inferred != null) {
          inferred.observe(value);
        }
      } catch (MismatchException disagreement) {
        // Only a reader of these values needs a common type.
        inferred = null;
      }
    }

    CacheColumn column(String name, Supplier<RowField> rowField) {
      ColumnType stored = ColumnTypes.ofClass(type).orElse(ColumnTypes.unknown());
      Field shape = inferred == null ? ColumnType.unknown() : inferred.field();
      return CacheColumn.of(
          name,
          new ColumnType(stored.storage, stored.binaryName, shape),
          BinaryObject.class.isAssignableFrom(type) ? "Object" : type.getSimpleName(),
          rowField);
    }
  }

  Rows sample() {
    Rows rows = new Rows();
    scan(rows::observe);
    return rows;
  }

  /** The types of columns; Arrow's null for parts without a value in the sampled rows. */
  List<Field> types(List<CacheColumn> columns) {
    List<RowField> cells = new ArrayList<>();
    List<InferredType> types = new ArrayList<>();
    for (CacheColumn column : columns) {
      cells.add(column.rowField());
      types.add(new InferredType());
    }
    scan(
        row -> {
          for (int i = 0; i < cells.size(); i++) {
            try {
              types.get(i).observe(cells.get(i).of(row.getKey(), row.getValue()));
            } catch (MismatchException mismatch) {
              throw disagreement(columns.get(i).name, mismatch);
            }
          }
        });
    return types.stream().map(InferredType::field).collect(Collectors.toList());
  }

  private void scan(Consumer<Cache.Entry<Object, Object>> observer) {
    if (!scan(true, observer)) {
      scan(false, observer);
    }
  }

  /** Whether the scan has reached the limit of rows or bytes. */
  private boolean scan(boolean local, Consumer<Cache.Entry<Object, Object>> observer) {
    ScanQuery<Object, Object> query = new ScanQuery<>();
    query.setPageSize(MIN_ROWS);
    query.setLocal(local);
    int rows = 0;
    long bytes = 0;
    try (QueryCursor<Cache.Entry<Object, Object>> cursor = cache.query(query)) {
      for (Cache.Entry<Object, Object> row : cursor) {
        observer.accept(row);
        rows++;
        bytes += bytes(row.getValue());
        if (rows >= MAX_ROWS || rows >= MIN_ROWS && bytes >= MAX_BYTES) {
          return true;
        }
      }
    }
    return false;
  }

  /** Size of a value in bytes; 0 for values that are always small. */
  private static long bytes(Object value) {
    if (value instanceof BinaryObject) {
      return ((BinaryObject) value).size();
    }
    return value instanceof byte[] ? ((byte[]) value).length : 0;
  }

  private TensorFlowIgniteException disagreement(String column, MismatchException mismatch) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache %s: column %s%s %s; a column without a type in the metadata gets it from up to %d"
            + " rows, whose values must have one type that can be read; give a type that fits all"
            + " values (schema={\"%s\": ...}), or leave the column out (columns=[...])",
        cache.getName(),
        column,
        mismatch.path,
        mismatch.getMessage(),
        MAX_ROWS,
        column);
  }
}
