package io.tensorflowignite.data.sql;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * A checked condition or SELECT, as the statements that Ignite runs. The statements are written
 * from the checked syntax tree, not copied from the text, so that Ignite runs only checked SQL. The
 * last column of each row is a key: the key of the cache's row, or the affinity key of a group.
 */
public final class RowSelect {
  private final String text;
  private final String selected;
  private final Source source;
  private final List<SelectColumn> columns;
  private final int parametersInColumns;
  private final int parameters;
  private final String zoned;

  RowSelect(
      String text,
      String selected,
      Source source,
      List<SelectColumn> columns,
      int parametersInColumns,
      StatementValues values) {
    this.text = text;
    this.selected = selected;
    this.source = source;
    this.columns = columns;
    this.parametersInColumns = parametersInColumns;
    parameters = values.used();
    zoned = values.zoned();
  }

  /** The user's argument and its text, for errors. */
  public String text() {
    return text;
  }

  /** A part whose result depends on the node's time zone. */
  public Optional<String> zoned() {
    return Optional.ofNullable(zoned);
  }

  /** The statement that reads the rows; the last column is the key. */
  public String rows() {
    return "SELECT " + selected + ", " + source.key + source.clauses;
  }

  /** The statement that counts the rows. */
  public String count() {
    return source.grouped
        ? "SELECT COUNT(*) FROM (SELECT " + source.key + " AS K" + source.clauses + ")"
        : "SELECT COUNT(*)" + source.clauses;
  }

  /** The statement that reads only the keys. */
  public String keys() {
    return "SELECT " + source.key + source.clauses;
  }

  /** The parameters of {@link #count} and {@link #keys}: the last ones of {@link #rows}. */
  public Object[] ofCount(Object[] values) {
    return Arrays.copyOfRange(values, parametersInColumns, values.length);
  }

  /** The columns of a SELECT; empty for a condition, which reads whole values. */
  public List<SelectColumn> columns() {
    return Collections.unmodifiableList(columns);
  }

  /** Whether rows are groups of rows. */
  boolean isGrouped() {
    return source.grouped;
  }

  /** Whether a row of the statement needs more than one row of the cache. */
  boolean readsOtherRows() {
    return source.grouped || source.related;
  }

  /** The tables that the statement reads beside the cache's table. */
  OtherTables others() {
    return source.others;
  }

  public void requireParameters(int given) {
    if (given != parameters) {
      throw SqlErrors.invalid(
          String.format("%s has %d question marks, but %d parameters", text, parameters, given),
          "each question mark needs one parameter, in order; give that number of values"
              + " (parameters=[...])");
    }
  }

  /** The source of rows: everything of a SELECT after its columns. */
  static final class Source {
    private final String key;
    private final String clauses;
    private final boolean grouped;
    private final boolean related;
    private final OtherTables others;

    private Source(
        String key, String clauses, boolean grouped, boolean related, OtherTables others) {
      this.key = key;
      this.clauses = clauses;
      this.grouped = grouped;
      this.related = related;
      this.others = others;
    }

    /**
     * Rows of one table.
     *
     * @param clauses FROM and the clauses after it
     */
    static Source ofTable(String clauses) {
      return new Source("_KEY", clauses, false, false, OtherTables.NONE);
    }

    /**
     * Rows of a table with rows of others: joined, or by subqueries.
     *
     * @param table the name of the cache's table in the statement
     */
    static Source ofTables(String table, String clauses, OtherTables others) {
      return new Source(table + "._KEY", clauses, false, true, others);
    }

    /**
     * Groups of rows.
     *
     * @param key the affinity key, as it is written in GROUP BY
     */
    static Source ofGroups(String key, String clauses, OtherTables others) {
      return new Source(key, clauses, true, !others.all().isEmpty(), others);
    }
  }
}
