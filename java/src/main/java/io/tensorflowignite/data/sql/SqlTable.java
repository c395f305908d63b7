package io.tensorflowignite.data.sql;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** The SQL table of a cache, with Ignite's names. */
public final class SqlTable {
  private static final Pattern NAME =
      Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_$]*+|\"(?:[^\"]|\"\")*+\"");

  private final String cache;
  private final String schema;
  private final String name;
  private final Map<String, String> types;
  private final TableAffinity affinity;
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
      TableAffinity affinity,
      boolean isEscaped) {
    this.isEscaped = isEscaped;
    this.cache = cache;
    this.schema = schema;
    this.name = name;
    this.types = types;
    this.affinity = affinity;
  }

  String cache() {
    return cache;
  }

  String schema() {
    return schema;
  }

  String name() {
    return name;
  }

  TableAffinity affinity() {
    return affinity;
  }

  /** The class of each column's values, by the column's name in upper case. */
  Map<String, String> types() {
    return types;
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
      throw SqlErrors.invalid(
          "in " + text + ": the name " + SqlErrors.shown(name) + " is refused",
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
}
