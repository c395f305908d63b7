package io.tensorflowignite.data.sql;

import java.util.List;
import java.util.function.ToLongFunction;

/** The tables that a statement reads beside its cache's table. */
final class OtherTables {
  /** Combinations of rows of other tables that a row of the cache may meet. */
  private static final long MAX_PARTNERS = 1_000_000;

  static final OtherTables NONE = new OtherTables(List.of(), List.of(), List.of());

  private final List<SqlTable> all;
  private final List<SqlTable> lists;
  private final List<SqlTable> multiplying;

  /**
   * @param lists the tables of IN (SELECT ...): a query holds their values on the heap
   * @param multiplying joined REPLICATED tables; all of their rows may match one row of the cache
   */
  OtherTables(List<SqlTable> all, List<SqlTable> lists, List<SqlTable> multiplying) {
    this.all = List.copyOf(all);
    this.lists = List.copyOf(lists);
    this.multiplying = List.copyOf(multiplying);
  }

  List<SqlTable> all() {
    return all;
  }

  /**
   * Throws if tables are too large for what a statement does with them.
   *
   * @param rows returns the number of rows of a REPLICATED table
   * @param maxHeld number of values of a list that a query may hold on the heap
   */
  void requireBounded(String text, ToLongFunction<SqlTable> rows, long maxHeld) {
    for (SqlTable table : lists) {
      long values = table.affinity().isReplicated() ? rows.applyAsLong(table) : 0;
      if (values > maxHeld) {
        throw SqlErrors.invalid(
            String.format(
                "%s has a list IN (SELECT ...) of %s, which has %,d rows", text, table, values),
            String.format(
                "a node holds the values of the list on its heap, which has room for %,d; write"
                    + " EXISTS (SELECT 1 FROM ... WHERE ...), or join the table",
                maxHeld));
      }
    }
    long partners = 1;
    for (SqlTable table : multiplying) {
      partners = Operand.product(partners, Math.max(1, rows.applyAsLong(table)));
    }
    if (partners > MAX_PARTNERS) {
      throw SqlErrors.invalid(
          String.format(
              "%s joins %s, of which together %,d combinations may meet a row",
              text, multiplying, partners),
          String.format(
              "a node tries all of them for each row, so there may be %,d; join these tables by"
                  + " their whole key (ON other.key = table.column), or make them smaller",
              MAX_PARTNERS));
    }
  }
}
