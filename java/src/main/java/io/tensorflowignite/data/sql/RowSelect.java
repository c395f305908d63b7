package io.tensorflowignite.data.sql;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A checked condition or SELECT, as the statements that Ignite runs. They are written from the
 * checked syntax tree and not copied from the text, so that Ignite runs only checked SQL. Each row
 * ends with its key.
 */
public final class RowSelect {
  private static final String KEY = "_KEY";

  private final String text;
  private final String selected;
  private final String from;
  private final String where;
  private final List<SelectColumn> columns;
  private final int parametersInColumns;
  private final int parameters;

  RowSelect(
      String text,
      String selected,
      String from,
      String where,
      List<SelectColumn> columns,
      int parametersInColumns,
      int parameters) {
    this.text = text;
    this.selected = selected;
    this.from = from;
    this.where = where;
    this.columns = columns;
    this.parametersInColumns = parametersInColumns;
    this.parameters = parameters;
  }

  /** The user's argument and its text, for errors. */
  public String text() {
    return text;
  }

  /** The statement that reads the rows; the last column is the key. */
  public String rows() {
    return "SELECT " + selected + ", " + KEY + " FROM " + from + where;
  }

  /** The statement that counts the rows. */
  public String count() {
    return "SELECT COUNT(*) FROM " + from + where;
  }

  /** The statement that reads only the keys. */
  public String keys() {
    return "SELECT " + KEY + " FROM " + from + where;
  }

  /** The parameters of {@link #count} and {@link #keys}: a part of those of {@link #rows}. */
  public Object[] ofCount(Object[] values) {
    return Arrays.copyOfRange(values, parametersInColumns, values.length);
  }

  /** The columns of a SELECT; empty for a condition, which reads whole values. */
  public List<SelectColumn> columns() {
    return Collections.unmodifiableList(columns);
  }

  public void requireParameters(int given) {
    if (given != parameters) {
      throw SqlErrors.invalid(
          String.format("%s has %d question marks, but %d parameters", text, parameters, given),
          "each question mark needs one parameter, in order; give that number of values"
              + " (parameters=[...])");
    }
  }
}
