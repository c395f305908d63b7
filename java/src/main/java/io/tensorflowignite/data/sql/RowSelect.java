package io.tensorflowignite.data.sql;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A condition or a SELECT that was checked, as the statements that Ignite is given. They are
 * written anew from what was understood, so that nothing is run that was not checked. Each row ends
 * with its key.
 */
public final class RowSelect {
  private static final String KEY = "_KEY";

  private final String what;
  private final String selected;
  private final String from;
  private final String where;
  private final List<SelectColumn> columns;
  private final int parametersInColumns;
  private final int parameters;

  RowSelect(
      String what,
      String selected,
      String from,
      String where,
      List<SelectColumn> columns,
      int parametersInColumns,
      int parameters) {
    this.what = what;
    this.selected = selected;
    this.from = from;
    this.where = where;
    this.columns = columns;
    this.parametersInColumns = parametersInColumns;
    this.parameters = parameters;
  }

  /** The rows of a table, as value and key, that meet a condition. */
  public static RowSelect ofCondition(SqlTable table, String where) {
    return SelectRules.condition(table, where);
  }

  /** The rows of a SELECT. */
  public static RowSelect ofStatement(SqlTable table, String sql) {
    return SelectRules.statement(table, sql);
  }

  /** What the user wrote, for errors. */
  public String what() {
    return what;
  }

  /** The statement whose rows are read; the key stands in its last column. */
  public String rows() {
    return "SELECT " + selected + ", " + KEY + " FROM " + from + where;
  }

  /** The statement that counts them. */
  public String count() {
    return "SELECT COUNT(*) FROM " + from + where;
  }

  /** The statement that tells only their keys. */
  public String keys() {
    return "SELECT " + KEY + " FROM " + from + where;
  }

  /** The parameters of {@link #count} and {@link #keys}, out of those of {@link #rows}. */
  public Object[] ofCount(Object[] values) {
    return Arrays.copyOfRange(values, parametersInColumns, values.length);
  }

  /** The columns of a SELECT; none of a condition, whose rows are the cache's own. */
  public List<SelectColumn> columns() {
    return Collections.unmodifiableList(columns);
  }

  public void requireParameters(int given) {
    if (given != parameters) {
      throw SqlInvalid.of(
          String.format("%s has %d question marks, and %d parameters came", what, parameters, given),
          "each question mark takes one parameter, in their order; give as many"
              + " (parameters=[...])");
    }
  }

}
