package io.tensorflowignite.data.sql;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The values that a query holds on the heap of a node: the values of a list, and its groups, unless
 * an index returns the rows of each group one after the other. Their number is known only after the
 * query, but is at most the number of rows that are read. So a query with groups reads fewer
 * partitions at a time.
 */
final class HeldRows {
  /** An estimate for a group with five aggregates, in a map with its key: about 400. */
  private static final int BYTES = 512;

  /** All queries that a node runs at a time hold an eighth of its heap. */
  private static final int HEAP_DIVISOR = 8;

  private HeldRows() {}

  /** Number of rows that one query may hold. */
  static long max() {
    Runtime node = Runtime.getRuntime();
    return node.maxMemory() / HEAP_DIVISOR / node.availableProcessors() / BYTES;
  }

  /**
   * Partitions in parts with at most {@code max} rows each, but one partition at least.
   *
   * @param rows the rows of each partition, in the order of the partitions
   */
  static List<List<Integer>> parts(List<Integer> partitions, List<Long> rows, long max) {
    List<List<Integer>> parts = new ArrayList<>();
    List<Integer> part = new ArrayList<>();
    long sum = 0;
    for (int i = 0; i < partitions.size(); i++) {
      if (!part.isEmpty() && sum + rows.get(i) > max) {
        parts.add(part);
        part = new ArrayList<>();
        sum = 0;
      }
      part.add(partitions.get(i));
      sum += rows.get(i);
    }
    if (!part.isEmpty()) {
      parts.add(part);
    }
    return Collections.unmodifiableList(parts);
  }

  /** The same number of parts of the partitions of each node, taken together by their order. */
  static List<List<Integer>> partsOfNodes(Iterable<List<Integer>> nodes, int count) {
    List<List<Integer>> parts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      List<Integer> part = new ArrayList<>();
      for (List<Integer> ofNode : nodes) {
        int size = ofNode.size();
        part.addAll(ofNode.subList(size * i / count, size * (i + 1) / count));
      }
      if (!part.isEmpty()) {
        parts.add(part);
      }
    }
    return Collections.unmodifiableList(parts);
  }
}
