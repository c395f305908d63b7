package io.tensorflowignite.data.sql;

/** One column of a SELECT, as the user wrote it. */
public final class SelectColumn {
  /** All columns of the table. */
  static final SelectColumn STAR = new SelectColumn(null, null);

  private final String name;
  private final String source;

  SelectColumn(String name, String source) {
    this.name = name;
    this.source = source;
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
}
