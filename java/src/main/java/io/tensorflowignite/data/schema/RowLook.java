package io.tensorflowignite.data.schema;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Enums;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import javax.cache.Cache;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * A bounded look at rows of a cache, for the types that no metadata tell: at rows of this node, and
 * when these are few also at those of others, so that every node tells the same.
 */
final class RowLook {
  static final int MAX_ROWS = 1_000;

  private static final long MAX_BYTES = 64L << 20;
  private static final int MIN_ROWS = 16;

  private final IgniteCache<Object, Object> cache;

  /**
   * @param cache kept binary
   */
  RowLook(IgniteCache<Object, Object> cache) {
    this.cache = cache;
  }

  /** What the values are. */
  final class Values {
    /** Names of the types of those that are objects. */
    final Set<String> objectTypes = new LinkedHashSet<>();

    private SeenType others = new SeenType();
    private SeenType keys = new SeenType();
    private Class<?> keyClass = Object.class;
    private Class<?> valueClass = Object.class;
    private boolean plain;

    /** Whether some values are no objects. */
    boolean arePlain() {
      return plain;
    }

    ColumnType plainType() {
      return type(others, valueClass);
    }

    String plainName() {
      return name(valueClass);
    }

    ColumnType keyType() {
      return type(keys, keyClass);
    }

    String keyName() {
      return name(keyClass);
    }

    private ColumnType type(SeenType seen, Class<?> storage) {
      Field shape = seen == null ? ColumnType.unknown() : seen.field();
      ColumnType told = ColumnTypes.ofClass(storage).orElse(ColumnTypes.ofAnyName("Object"));
      return new ColumnType(told.storage(), told.binaryName(), shape);
    }

    private String name(Class<?> storage) {
      return BinaryObject.class.isAssignableFrom(storage) ? "Object" : storage.getSimpleName();
    }

    private void see(Cache.Entry<Object, Object> row) {
      Object value = row.getValue();
      keyClass = row.getKey().getClass();
      keys = seen(keys, row.getKey());
      if (value instanceof BinaryObject && !Enums.isValue(value)) {
        objectTypes.add(((BinaryObject) value).type().typeName());
      } else {
        plain = true;
        valueClass = value.getClass();
        others = seen(others, value);
      }
    }

    /** Values that disagree have no type; that matters only to whom reads them. */
    private SeenType seen(SeenType before, Object value) {
      try {
        if (before != null) {
          before.see(value);
        }
        return before;
      } catch (MismatchException disagreement) {
        return null;
      }
    }
  }

  Values values() {
    Values values = new Values();
    rows(values::see);
    return values;
  }

  /** The types of columns, Arrow's null where no row tells them. */
  List<Field> types(List<CacheColumn> columns) {
    List<RowField> cells = new ArrayList<>();
    List<SeenType> seen = new ArrayList<>();
    for (CacheColumn column : columns) {
      cells.add(column.rowField());
      seen.add(new SeenType());
    }
    rows(
        row -> {
          for (int i = 0; i < cells.size(); i++) {
            try {
              seen.get(i).see(cells.get(i).of(row.getKey(), row.getValue()));
            } catch (MismatchException mismatch) {
              throw disagreement(columns.get(i).name(), mismatch);
            }
          }
        });
    List<Field> fields = new ArrayList<>();
    seen.forEach(type -> fields.add(type.field()));
    return fields;
  }

  private interface Look {
    void at(Cache.Entry<Object, Object> row);
  }

  private void rows(Look look) {
    if (!enough(true, look)) {
      enough(false, look);
    }
  }

  /** Whether there were as many rows as are looked at. */
  private boolean enough(boolean local, Look look) {
    ScanQuery<Object, Object> query = new ScanQuery<>();
    query.setPageSize(MIN_ROWS);
    query.setLocal(local);
    int rows = 0;
    long bytes = 0;
    try (QueryCursor<Cache.Entry<Object, Object>> cursor = cache.query(query)) {
      for (Cache.Entry<Object, Object> row : cursor) {
        look.at(row);
        rows++;
        bytes += bytes(row.getValue());
        if (rows >= MAX_ROWS || rows >= MIN_ROWS && bytes >= MAX_BYTES) {
          return true;
        }
      }
    }
    return false;
  }

  /** Of values that may be large. */
  private static long bytes(Object value) {
    if (value instanceof BinaryObject) {
      return ((BinaryObject) value).size();
    }
    return value instanceof byte[] ? ((byte[]) value).length : 0;
  }

  private TensorFlowIgniteException disagreement(String column, MismatchException mismatch) {
    return new TensorFlowIgniteException(
        ErrorCode.UNSUPPORTED_TYPE,
        String.format(
            "cache %s: column %s%s %s; where no metadata tell a column's type, up to %d rows are"
                + " looked at, and must be of one type that can be read; say the type that all can"
                + " be laid out as (schema={\"%s\": ...}), or leave the column out (columns=[...])",
            cache.getName(), column, mismatch.path(), mismatch.getMessage(), MAX_ROWS, column));
  }
}
