package io.tensorflowignite.data.sql;

import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Where the rows of a table are: on every node, or in the partition that the value of one column
 * gives. Two tables are co-located if the same value gives the same partition, which the same node
 * owns, in both.
 */
public final class TableAffinity {
  /**
   * The classes in which two values that are equal in SQL have the same partition. A decimal 1.0 is
   * equal to 1.00, and a date with a time of day to one without, but their partitions differ.
   */
  private static final Set<String> EXACT =
      Set.of(
          "java.lang.Byte",
          "java.lang.Short",
          "java.lang.Integer",
          "java.lang.Long",
          "java.lang.String",
          "java.util.UUID");

  /** The affinity of a table if it is not known. */
  static final TableAffinity UNKNOWN =
      new TableAffinity(false, Set.of(), null, new Distribution("unknown", 0, null, 1));

  private final boolean replicated;
  private final Set<String> columns;
  private final String type;
  private final Distribution distribution;

  private TableAffinity(
      boolean replicated, Set<String> columns, String type, Distribution distribution) {
    this.replicated = replicated;
    this.columns = columns;
    this.type = type;
    this.distribution = distribution;
  }

  /**
   * @param columns the names of the affinity key column, with Ignite's own one; empty: the affinity
   *     key is no column
   * @param type the class of its values
   */
  static TableAffinity partitioned(Set<String> columns, String type, Distribution distribution) {
    return new TableAffinity(false, columns, type, distribution);
  }

  /** As {@link #partitioned}, of a cache that has all its rows on every node. */
  static TableAffinity replicated(Set<String> columns, String type, Distribution distribution) {
    return new TableAffinity(true, columns, type, distribution);
  }

  boolean isReplicated() {
    return replicated;
  }

  /** Whether a column's value alone gives the partition of its row. */
  boolean isKey(String column) {
    return columns.contains(column);
  }

  /** Whether a column is the whole key, so that at most one row has a value of it. */
  boolean isWholeKey(String column) {
    return columns.contains("_KEY") && columns.contains(column);
  }

  /** The name of the affinity key column for people: the user's one if it has one. */
  Optional<String> key() {
    return columns.stream().filter(column -> !column.equals("_KEY")).findFirst().or(this::any);
  }

  private Optional<String> any() {
    return columns.stream().findFirst();
  }

  /** Why equal values of the affinity key column may be in two partitions; empty: they are not. */
  Optional<String> inexact() {
    if (columns.isEmpty()) {
      return Optional.of("its affinity key is no column");
    }
    return EXACT.contains(type)
        ? Optional.empty()
        : Optional.of(
            "its affinity key is of type "
                + type
                + ", of which values that SQL finds equal may have two partitions");
  }

  /** Why equal affinity keys of two tables may be on two nodes; empty: they are not. */
  Optional<String> difference(TableAffinity other) {
    return inexact()
        .or(other::inexact)
        .or(
            () ->
                Objects.equals(type, other.type)
                    ? Optional.empty()
                    : Optional.of("the affinity keys are of types " + type + " and " + other.type))
        .or(() -> distribution.difference(other.distribution));
  }

  /** Whether every node that owns rows of another table has the rows of this REPLICATED one. */
  boolean isOnNodesOf(TableAffinity other) {
    return distribution.nodeFilter == null
        || distribution.nodeFilter.equals(other.distribution.nodeFilter);
  }

  /** How a cache assigns partitions to nodes. */
  static final class Distribution {
    private final String function;
    private final int partitions;
    private final String nodeFilter;
    private final int parallelism;

    /**
     * @param function the affinity function: two are equal if they assign the same nodes
     * @param nodeFilter the class of the filter that excludes nodes; null: none
     * @param parallelism the cache's query parallelism
     */
    Distribution(String function, int partitions, String nodeFilter, int parallelism) {
      this.function = function;
      this.partitions = partitions;
      this.nodeFilter = nodeFilter;
      this.parallelism = parallelism;
    }

    private Optional<String> difference(Distribution other) {
      if (partitions != other.partitions) {
        return Optional.of("they have " + partitions + " and " + other.partitions + " partitions");
      }
      if (!function.equals(other.function)) {
        return Optional.of("their affinity functions are " + function + " and " + other.function);
      }
      if (!Objects.equals(nodeFilter, other.nodeFilter)) {
        return Optional.of("their node filters differ");
      }
      if (parallelism != other.parallelism) {
        return Optional.of(
            "their query parallelism is " + parallelism + " and " + other.parallelism);
      }
      return Optional.empty();
    }
  }
}
