package io.tensorflowignite.data.sql;

import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** The SQL table of a cache, with Ignite's names. */
final class SqlTable {
  private static final Pattern NAME =
      Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_$]*+|\"(?:[^\"]|\"\")*+\"");

  final String cache;
  final String schema;
  final String name;
  final Map<String, String> types;
  final Affinity affinity;
  private final boolean isEscaped;

  /**
   * @param types the class of each column's values, by the column's name in upper case
   * @param affinity where its rows are
   * @param isEscaped whether SQL has the names of its columns as they are; otherwise in upper case
   */
  SqlTable(
      String cache,
      String schema,
      String name,
      Map<String, String> types,
      Affinity affinity,
      boolean isEscaped) {
    this.isEscaped = isEscaped;
    this.cache = cache;
    this.schema = schema;
    this.name = name;
    this.types = types;
    this.affinity = affinity;
  }

  boolean hasColumn(String column) {
    return types.containsKey(column.toUpperCase(Locale.ROOT));
  }

  /**
   * The name that SQL has for a column in quotes: the caller knows the name of the cache's field,
   * such as {@code day}, which SQL may have as {@code DAY}.
   */
  String exactName(String column) {
    return !isEscaped && hasColumn(column) ? column.toUpperCase(Locale.ROOT) : column;
  }

  /** The class of a column's values; null: unknown. */
  String type(String column) {
    return types.get(column.toUpperCase(Locale.ROOT));
  }

  /** The name for a FROM clause. */
  String quoted() {
    return quote(schema) + "." + quote(name);
  }

  @Override
  public String toString() {
    return quoted();
  }

  static String quote(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  /** Refuses names that Ignite's parser may read as something else. */
  static void requireName(String text, String name) {
    if (!NAME.matcher(name).matches()) {
      throw SqlText.invalid(
          "in " + text + ": the name " + SqlText.shown(name) + " is refused",
          "names have letters, digits, _ and $; write other names in double quotes");
    }
  }

  /** The name that SQL text refers to: without its quotes, or in upper case if it has none. */
  static String resolveName(String written) {
    return isQuoted(written) ? unquoted(written) : written.toUpperCase(Locale.ROOT);
  }

  /** A name in SQL text without its quotes. */
  static String unquoted(String written) {
    if (!isQuoted(written)) {
      return written;
    }
    return written.substring(1, written.length() - 1).replace("\"\"", "\"");
  }

  static boolean isQuoted(String written) {
    return written.length() > 1 && written.startsWith("\"") && written.endsWith("\"");
  }

  /**
   * Where the rows of a table are: on every node, or in the partition that the value of one column
   * gives. Two tables are co-located if the same value gives the same partition, which the same
   * node owns, in both.
   */
  static final class Affinity {
    /**
     * The classes in which two values that are equal in SQL have the same partition. A decimal 1.0
     * is equal to 1.00, and a date with a time of day to one without, but their partitions differ.
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
    static final Affinity UNKNOWN =
        new Affinity(false, Set.of(), null, new Distribution("unknown", 0, null, 1));

    private final boolean replicated;
    private final Set<String> columns;
    private final String type;
    private final Distribution distribution;

    /**
     * @param replicated whether all rows are on every node
     * @param columns the names of the affinity key column, with Ignite's own one; empty: the
     *     affinity key is no column
     * @param type the class of its values
     */
    Affinity(boolean replicated, Set<String> columns, String type, Distribution distribution) {
      this.replicated = replicated;
      this.columns = columns;
      this.type = type;
      this.distribution = distribution;
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
      return columns.stream().min(Comparator.comparing(column -> column.equals("_KEY")));
    }

    /**
     * Why equal values of the affinity key column may be in two partitions; empty: they are not.
     */
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
    Optional<String> difference(Affinity other) {
      return inexact()
          .or(other::inexact)
          .or(
              () ->
                  Objects.equals(type, other.type)
                      ? Optional.empty()
                      : Optional.of(
                          "the affinity keys are of types " + type + " and " + other.type))
          .or(() -> distribution.difference(other.distribution));
    }

    /** Whether every node that owns rows of another table has the rows of this REPLICATED one. */
    boolean isOnNodesOf(Affinity other) {
      return distribution.nodeFilter == null
          || distribution.nodeFilter.equals(other.distribution.nodeFilter);
    }
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
