package io.tensorflowignite.data.sql;

/** One column of a SELECT, as the user wrote it. */
public final class SelectColumn {
  private final String name;
  private final String source;
  private final SqlTable table;

  private SelectColumn(String name, String source, SqlTable table) {
    this.name = name;
    this.source = source;
    this.table = table;
  }

  /** All columns of a table. */
  static SelectColumn star(SqlTable table) {
    return new SelectColumn(null, null, table);
  }

  /**
   * @param source the SQL name of the table's column
   * @param table null: unknown
   */
  static SelectColumn ofTable(String name, String source, SqlTable table) {
    return new SelectColumn(name, source, table);
  }

  static SelectColumn computed(String name) {
    return new SelectColumn(name, null, null);
  }

  public boolean isStar() {
    return name == null;
  }

  /** Null for a star. */
  public String name() {
    return name;
  }

  /** The SQL name of the table's column; null for a computed value. */
  public String source() {
    return source;
  }

  /** The table of the column or star; null: a computed value, or not known. */
  SqlTable table() {
    return table;
  }
}
