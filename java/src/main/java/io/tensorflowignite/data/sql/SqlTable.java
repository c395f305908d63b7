package io.tensorflowignite.data.sql;

/** The table as which SQL knows a cache: its names as Ignite keeps them. */
public final class SqlTable {
  private final String cache;
  private final String schema;
  private final String name;

  public SqlTable(String cache, String schema, String name) {
    this.cache = cache;
    this.schema = schema;
    this.name = name;
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

  /** For a FROM clause. */
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

  /** A name in SQL as it is meant: without its quotes, or in upper case when it has none. */
  static String meant(String written) {
    return isQuoted(written) ? unquoted(written) : written.toUpperCase(java.util.Locale.ROOT);
  }

  /** A name in SQL without its quotes. */
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
