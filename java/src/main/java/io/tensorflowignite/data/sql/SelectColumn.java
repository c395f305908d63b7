package io.tensorflowignite.data.sql;

/** One column of a SELECT, as it is written. */
public final class SelectColumn {
  private final String name;
  private final String source;

  private SelectColumn(String name, String source) {
    this.name = name;
    this.source = source;
  }

  /** All columns of the table. */
  static SelectColumn star() {
    return new SelectColumn(null, null);
  }

  static SelectColumn ofSource(String name, String source) {
    return new SelectColumn(name, source);
  }

  static SelectColumn computed(String name) {
    return new SelectColumn(name, null);
  }

  public boolean isStar() {
    return name == null;
  }

  /** Null for a star. */
  public String name() {
    return name;
  }

  /** The column of the table that it is, as SQL calls it; null for what is computed. */
  public String source() {
    return source;
  }
}
