package io.tensorflowignite.data.sql;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;

/**
 * A checked condition or SELECT, as the statements that Ignite runs. The statements are written
 * from the checked syntax tree, not copied from the text, so that Ignite runs only checked SQL. The
 * last column of each row is a key: the key of the cache's row, or the affinity key of a group.
 */
public final class RowSelect {
  /** Combinations of rows of other tables that a row of the cache may meet. */
  private static final long MAX_PARTNERS = 1_000_000;

  /** The user's argument and its text, for errors. */
  public final String text;

  private final String selected;
  private final Source source;
  private final List<Column> columns;
  private final int parametersInColumns;
  private final int parameters;
  private final Object[] values;

  /** A part whose result depends on the node's time zone. */
  public final Optional<String> zoned;

  RowSelect(
      String selected,
      Source source,
      List<Column> columns,
      int parametersInColumns,
      StatementValues values) {
    this.selected = selected;
    this.source = source;
    this.columns = columns;
    this.parametersInColumns = parametersInColumns;
    text = values.text();
    parameters = values.used();
    this.values = values.parameters();
    zoned = values.zoned();
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

  /** The parameters of {@link #rows}. */
  public Object[] values() {
    return values.clone();
  }

  /** The parameters of {@link #count} and {@link #keys}: the last ones of {@link #rows}. */
  public Object[] ofCount(Object[] values) {
    return Arrays.copyOfRange(values, parametersInColumns, values.length);
  }

  /** The columns of a SELECT; empty for a condition, which reads whole values. */
  public List<Column> columns() {
    return Collections.unmodifiableList(columns);
  }

  /** Whether rows are groups of rows. */
  boolean isGrouped() {
    return source.grouped;
  }

  /** Whether a row of the statement needs more than one row of the cache. */
  boolean readsOtherRows() {
    return source.grouped || !source.others.isEmpty();
  }

  /** The tables that the statement reads beside the cache's table. */
  List<SqlTable> others() {
    return source.others;
  }

  void requireParameters(int given) {
    if (given != parameters) {
      throw SqlText.invalid(
          String.format("%s has %d question marks, but %d parameters", text, parameters, given),
          "each question mark needs one parameter, in order; give that number of values"
              + " (parameters=[...])");
    }
  }

  /**
   * Throws if other tables are too large for what the statement does with them.
   *
   * @param rows returns the number of rows of a REPLICATED table
   * @param maxHeld number of values of a list that a query may hold on the heap
   */
  void requireBounded(ToLongFunction<SqlTable> rows, long maxHeld) {
    for (SqlTable table : source.lists) {
      long values = table.affinity.isReplicated() ? rows.applyAsLong(table) : 0;
      if (values > maxHeld) {
        throw SqlText.invalid(
            String.format(
                "%s has a list IN (SELECT ...) of %s, which has %,d rows", text, table, values),
            String.format(
                "a node holds the values of the list on its heap, which has room for %,d; write"
                    + " EXISTS (SELECT 1 FROM ... WHERE ...), or join the table",
                maxHeld));
      }
    }
    double partners = 1;
    for (SqlTable table : source.multiplying) {
      partners *= Math.max(1, rows.applyAsLong(table));
    }
    if (partners > MAX_PARTNERS) {
      throw SqlText.invalid(
          String.format(
              "%s joins %s, of which together %,.0f combinations may meet a row",
              text, source.multiplying, partners),
          String.format(
              "a node tries all of them for each row, so there may be %,d; join these tables by"
                  + " their whole key (ON other.key = table.column), or make them smaller",
              MAX_PARTNERS));
    }
  }

  /** One column of a SELECT, as the user wrote it. */
  static final class Column {
    final String name;
    final String source;
    final SqlTable table;

    /** Whether it is computed, and neither a number nor a text, nor of an unknown type. */
    final boolean isFixed;

    /**
     * @param name null: a star, all columns of the table
     * @param source the SQL name of the table's column; null: a star or a computed value
     * @param table the table of the column or star; null: a computed value, or not known
     */
    Column(String name, String source, SqlTable table) {
      this(name, source, table, false);
    }

    private Column(String name, String source, SqlTable table, boolean isFixed) {
      this.isFixed = isFixed;
      this.name = name;
      this.source = source;
      this.table = table;
    }

    /** A computed value. */
    static Column computed(String name, Operand value) {
      return new Column(name, null, null, value.kind == Operand.Kind.OTHER && value.rows == 0);
    }

    boolean isStar() {
      return name == null;
    }
  }

  /** The source of rows: everything of a SELECT after its columns. */
  static final class Source {
    private final String key;
    private final String clauses;
    private final boolean grouped;
    private final List<SqlTable> others;
    private final List<SqlTable> lists;
    private final List<SqlTable> multiplying;

    /**
     * @param key the key of a row, as SQL text; of groups the affinity key, as in GROUP BY
     * @param clauses FROM and the clauses after it
     * @param others the tables that the statement reads beside the cache's table
     * @param lists the tables of IN (SELECT ...): a query holds their values on the heap
     * @param multiplying joined REPLICATED tables; all of their rows may match one row of the cache
     */
    Source(
        String key,
        String clauses,
        boolean grouped,
        List<SqlTable> others,
        List<SqlTable> lists,
        List<SqlTable> multiplying) {
      this.key = key;
      this.clauses = clauses;
      this.grouped = grouped;
      this.others = others;
      this.lists = lists;
      this.multiplying = multiplying;
    }
  }
}
