package io.tensorflowignite.data.load;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.ignite.binary.BinaryObject;

/** Rows for which memory is reserved together. Not thread-safe. */
final class RowChunk {
  private static final int MAX_ROWS = 1024;
  private static final long MAX_BYTES = 1 << 20;

  /** Of a row besides its key and its object: headers, and its entries in indexes. */
  private static final int ROW_BYTES = 128;

  private static final int MAX_BYTES_OF_CHARACTER = 3;

  private final List<Object> keys = new ArrayList<>();
  private final List<BinaryObject> values = new ArrayList<>();

  /** The bytes that one copy of the rows takes in a data region, by partition. */
  final Map<Integer, Long> partitions = new HashMap<>();

  private long bytes;

  void add(Object key, BinaryObject value, int partition) {
    keys.add(key);
    values.add(value);
    long size = ROW_BYTES + bytes(key) + value.size();
    partitions.merge(partition, size, Long::sum);
    bytes += size;
  }

  boolean isFull() {
    return keys.size() >= MAX_ROWS || bytes >= MAX_BYTES;
  }

  int rows() {
    return keys.size();
  }

  /** The rows in the order in which they came. */
  Map<Object, Object> byKey() {
    Map<Object, Object> rows = new LinkedHashMap<>(2 * keys.size());
    forEach(rows::put);
    return rows;
  }

  void forEach(BiConsumer<Object, BinaryObject> action) {
    for (int row = 0; row < keys.size(); row++) {
      action.accept(keys.get(row), values.get(row));
    }
  }

  private static long bytes(Object key) {
    if (key instanceof BinaryObject) {
      return ((BinaryObject) key).size();
    }
    return key instanceof String ? (long) MAX_BYTES_OF_CHARACTER * ((String) key).length() : 0;
  }
}
