package io.tensorflowignite.data.sql;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.Refusals;
import io.tensorflowignite.data.sql.SqlTable.Distribution;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/**
 * Joins, subqueries and groups: which of them each owner can answer alone.
 *
 * <p>Promise (sql): A SELECT that owners cannot answer alone is refused.
 */
public class SelectOfTablesTest {
  private static final String INT = "java.lang.Integer";
  private static final String TEXT = "java.lang.String";
  private static final Distribution EQUAL = distribution(32, null, 1);

  private static final SqlTable CUSTOMER =
      table(
          "CUSTOMER",
          new SqlTable.Affinity(false, Set.of("_KEY", "ID"), INT, EQUAL),
          Map.of("ID", INT, "NAME", TEXT, "SEGMENT", INT));
  private static final SqlTable PAYMENT = payment("PAYMENT", INT, EQUAL);
  private static final SqlTable REFUND = payment("REFUND", INT, EQUAL);
  private static final SqlTable SEGMENT =
      table(
          "SEGMENT",
          new SqlTable.Affinity(true, Set.of("_KEY", "ID"), INT, distribution(512, null, 1)),
          Map.of("ID", INT, "LABEL", TEXT));

  private static final Map<String, SqlTable> TABLES =
      Stream.of(
              CUSTOMER,
              PAYMENT,
              REFUND,
              SEGMENT,
              payment("FEWER", INT, distribution(16, null, 1)),
              payment("FILTERED", INT, distribution(32, "Filter", 1)),
              payment("PARALLEL", INT, distribution(32, null, 4)),
              payment("WIDE", "java.lang.Long", EQUAL),
              payment("INEXACT", "java.math.BigDecimal", EQUAL),
              keyed("KEYLESS", new SqlTable.Affinity(false, Set.of(), null, EQUAL)),
              keyed(
                  "FUNCTION",
                  new SqlTable.Affinity(
                      false,
                      Set.of("ID"),
                      INT,
                      new Distribution("Mine of cache function", 32, null, 1))),
              keyed(
                  "SOMEWHERE",
                  new SqlTable.Affinity(true, Set.of("ID"), INT, distribution(32, "Filter", 1))))
          .collect(Collectors.toMap(found -> found.name, found -> found));

  private static final String CUSTOMERS = "SELECT c.id FROM customer c ";
  private static final String FROM = " FROM \"customer\".\"CUSTOMER\" AS ";
  private static final String PAYMENTS = "\"payment\".\"PAYMENT\" AS ";
  private static final String SEGMENTS = "\"segment\".\"SEGMENT\" AS ";

  @Test
  public void rowsOfCoLocatedAndReplicatedTablesAreJoined() {
    RowSelect select =
        sql(
            "select c.id, p.amount * ? AS twice, s.label from Customer c join payment as p on"
                + " p.customer_id = c.id and p.amount > ? left outer join segment s on s.id >="
                + " c.segment where c.name = ?");

    String clauses =
        FROM
            + "c INNER JOIN "
            + PAYMENTS
            + "p ON p.customer_id = c.id AND p.amount > ? LEFT JOIN "
            + SEGMENTS
            + "s ON s.id >= c.segment WHERE c.name = ?";
    assertEquals(
        "SELECT c.id, p.amount * ? AS twice, s.label, \"C\"._KEY" + clauses, select.rows());
    assertEquals("SELECT COUNT(*)" + clauses, select.count());
    assertEquals("SELECT \"C\"._KEY" + clauses, select.keys());
    select.requireParameters(3);
    assertArrayEquals(new Object[] {2L, "a"}, select.ofCount(new Object[] {1L, 2L, "a"}));
    assertTrue(select.readsOtherRows());
    assertEquals(List.of(PAYMENT, SEGMENT), select.others());
    assertEquals(
        Arrays.asList(CUSTOMER, null, SEGMENT),
        select.columns().stream().map(column -> column.table).collect(Collectors.toList()));
  }

  @Test
  public void aJoinOfPartitionedTablesEquatesTheirAffinityKeys() {
    for (String on :
        new String[] {
          "c.id = p.customer_id",
          "p.customer_id = c._key",
          "p.customer_id = c.id AND p.amount > 3",
          "p.amount > 3 AND (p.customer_id = c.id)",
          "p.amount IN (1, 2) AND p.customer_id = c.id",
          "p.amount BETWEEN 1 AND 2 AND p.customer_id = c.id AND NOT p.amount IS NULL",
          "p.customer_id = c.id AND (p.amount > 3 OR p.amount < 1)",
          "CASE WHEN p.amount > 3 OR p.amount < 1 THEN 1 ELSE 2 END = 1 AND p.customer_id = c.id",
        }) {
      sql(CUSTOMERS + "JOIN payment p ON " + on);
      sql(CUSTOMERS + "LEFT JOIN payment p ON " + on);
    }
    sql(
        CUSTOMERS
            + "LEFT JOIN payment p ON p.customer_id = c.id JOIN refund r ON r.customer_id ="
            + " p.customer_id");
    sql(CUSTOMERS + "JOIN customer d ON c.id = d._KEY");
    for (String on :
        new String[] {
          "p.amount = c.id",
          "p.customer_id >= c.id",
          "p.customer_id = c.segment",
          "p.customer_id + 0 = c.id",
          "p.customer_id = p.customer_id",
          "c.id = c._key",
          "customer_id = c.id",
          "p.customer_id = id",
          "p.customer_id = c.id OR p.amount > 3",
          "p.amount IN (1, 2) OR p.customer_id = c.id",
          "p.customer_id = c.id AND p.amount IN (1, 2) OR p.amount > 3",
          "NOT p.customer_id = c.id",
          "TRUE",
        }) {
      assertRefused(
          CUSTOMERS + "JOIN payment p ON " + on,
          "reads \"payment\".\"PAYMENT\" without the equality of the affinity keys",
          "write ON P.CUSTOMER_ID = C.ID");
    }
    assertRefused(
        CUSTOMERS + "JOIN segment s ON s.id = c.segment JOIN payment p ON p.customer_id = s.id",
        "without the equality of the affinity keys");
    assertRefused(
        CUSTOMERS
            + "JOIN payment p ON p.customer_id = r.customer_id JOIN refund r ON r.customer_id ="
            + " c.id",
        "without the equality of the affinity keys");
  }

  @Test
  public void tablesThatAreNotCoLocatedAreRefusedWithTheDifference() {
    Map<String, String> reasons = new LinkedHashMap<>();
    reasons.put("fewer", "they have 16 and 32 partitions");
    reasons.put("filtered", "their node filters differ");
    reasons.put("parallel", "their query parallelism is 4 and 1");
    reasons.put("wide", "the affinity keys are of types java.lang.Long and java.lang.Integer");
    reasons.put("inexact", "its affinity key is of type java.math.BigDecimal");
    reasons.put("keyless", "its affinity key is no column");
    reasons.put("function", "their affinity functions are Mine of cache function and Rendezvous");
    reasons.forEach(
        (name, reason) -> {
          String[] parts = {
            "not co-located with \"customer\".\"CUSTOMER\"", reason, "co-locate cache " + name
          };
          assertRefused(CUSTOMERS + "JOIN " + name + " x ON x.customer_id = c.id", parts);
          assertRefused(
              CUSTOMERS + "WHERE EXISTS (SELECT 1 FROM " + name + " x WHERE x.customer_id = c.id)",
              parts);
        });
    assertRefused(
        CUSTOMERS + "JOIN somewhere s ON s.id = c.id",
        "is REPLICATED, but not to all nodes",
        "without a node filter");
    assertRefused(
        () ->
            SelectRules.statement(
                SEGMENT,
                SelectOfTablesTest::find,
                "SELECT s.id FROM segment s JOIN payment p ON p.customer_id = s.id"),
        "cache segment is REPLICATED",
        "read cache payment instead");
    SelectRules.statement(
        SEGMENT,
        SelectOfTablesTest::find,
        "SELECT s.id FROM segment s JOIN segment t ON s.id < t.id");
  }

  @Test
  public void otherJoinsAreRefused() {
    for (String join :
        new String[] {
          ", payment p",
          "CROSS JOIN payment p",
          "NATURAL JOIN payment p",
          "RIGHT JOIN payment p ON p.customer_id = c.id",
          "FULL JOIN payment p ON p.customer_id = c.id",
          "FULL OUTER JOIN payment p ON p.customer_id = c.id",
          "JOIN payment p USING (id)",
          "STRAIGHT_JOIN payment p ON p.customer_id = c.id",
          "LEFT SEMI JOIN payment p ON p.customer_id = c.id",
          "JOIN payment p",
        }) {
      assertRefused(CUSTOMERS + join, "sql \"" + CUSTOMERS);
    }
    assertRefused(
        CUSTOMERS + "RIGHT JOIN payment p ON p.customer_id = c.id",
        "has the join RIGHT JOIN payment p",
        "LEFT JOIN table ON condition");
    assertRefused(CUSTOMERS + "JOIN (SELECT 1 AS id) p ON p.id = c.id", "which is no table");
    assertRefused(CUSTOMERS + "JOIN SYS.NODES n ON n.id = c.id", "there is no such table");
    assertRefused(CUSTOMERS + "JOIN payment c ON c.customer_id = c.id", "two tables c");
    assertRefused(
        CUSTOMERS + "JOIN payment p USE INDEX (x) ON p.customer_id = c.id", "without hints");
    assertRefused(
        CUSTOMERS + "JOIN nowhere n ON n.id = c.id",
        "reads from nowhere n, and there is no such table");
    assertRefused(
        "SELECT p.customer_id FROM payment p JOIN customer c ON p.customer_id = c.id",
        "the first table of a SELECT is the table of its cache customer");
    assertRefused(
        CUSTOMERS + "JOIN payment p ON p.customer_id = c.id AND SUM(p.amount) > 1",
        "the aggregate SUM");
    assertRefused(
        CUSTOMERS + "JOIN payment p ON p.customer_id = c.id AND EXISTS (SELECT 1 FROM segment)",
        "a subquery reads other rows",
        "in its WHERE");
    for (String outer : new String[] {"p.customer_id = c.id(+)", "p.customer_id(+) = c.id"}) {
      assertRefused(CUSTOMERS + "WHERE EXISTS (SELECT 1 FROM payment p WHERE " + outer + ")");
    }
  }

  @Test
  public void theWorkForARowAndTheValuesOfAListAreBounded() {
    String two = CUSTOMERS + "JOIN segment s ON s.label < c.name JOIN segment t ON ";
    RowSelect any = sql(two + "t.label > s.label");
    any.requireBounded(table -> 1_000, 5);
    assertRefused(
        () -> any.requireBounded(table -> 1_001, 5),
        "joins [\"segment\".\"SEGMENT\", \"segment\".\"SEGMENT\"], of which together 1,002,001",
        "there may be 1,000,000; join these tables by their whole key");
    sql(two + "t.id = s.id").requireBounded(table -> 1_000_000, 5);
    RowSelect list = sql("SELECT id FROM customer WHERE id IN (SELECT id FROM segment)");
    list.requireBounded(table -> 5, 5);
    assertRefused(
        () -> list.requireBounded(table -> 6, 5),
        "a list IN (SELECT ...) of \"segment\".\"SEGMENT\", which has 6 rows",
        "write EXISTS");
    StringBuilder many = new StringBuilder("SELECT c.id FROM customer c");
    for (int i = 0; i < 8; i++) {
      many.append(" JOIN segment s").append(i).append(" ON s").append(i).append(".id = c.segment");
    }
    assertRefused(many.toString(), "reads more than 8 tables");
  }

  @Test
  public void aStarIsThatOfOneTable() {
    RowSelect select =
        sql("SELECT c.*, s.label FROM customer c JOIN segment s ON s.id = c.segment");
    assertTrue(select.columns().get(0).isStar());
    assertEquals(CUSTOMER, select.columns().get(0).table);
    assertEquals(
        SEGMENT,
        sql("SELECT s.* FROM customer c JOIN segment s ON s.id = c.segment")
            .columns()
            .get(0)
            .table);
    assertRefused(
        "SELECT * FROM customer c JOIN segment s ON s.id = c.segment",
        "has * of several tables",
        "write the star of one table, such as \"C\".*");
    assertRefused("SELECT * FROM customer GROUP BY id", "has * of groups");
  }

  @Test
  public void subqueriesStandInColumnsAndInTheCondition() {
    RowSelect select =
        sql(
            "SELECT c.id, (SELECT COUNT(*) FROM payment p WHERE p.customer_id = c.id AND p.amount <"
                + " ?) AS n FROM customer c WHERE NOT EXISTS (SELECT * FROM refund r WHERE"
                + " r.customer_id = c.id) AND c.segment IN (SELECT id FROM segment WHERE label ="
                + " ?)");

    String clauses =
        FROM
            + "c WHERE NOT EXISTS (SELECT * FROM \"refund\".\"REFUND\" AS r WHERE r.customer_id ="
            + " c.id) AND c.segment IN (SELECT id FROM "
            + SEGMENTS
            + "\"SEGMENT\" WHERE label = ?)";
    assertEquals(
        "SELECT c.id, (SELECT COUNT(*) FROM "
            + PAYMENTS
            + "p WHERE p.customer_id = c.id AND p.amount < ?) AS n, \"C\"._KEY"
            + clauses,
        select.rows());
    assertEquals("SELECT COUNT(*)" + clauses, select.count());
    assertArrayEquals(new Object[] {"gold"}, select.ofCount(new Object[] {1L, "gold"}));
    assertTrue(select.readsOtherRows());
    assertFalse(select.isGrouped());
    assertEquals(List.of(PAYMENT, REFUND, SEGMENT), select.others());

    for (String where :
        new String[] {
          "c.segment NOT IN (SELECT s.id FROM segment s) AND c.id > 3",
          "c.segment > (SELECT AVG(s.id) FROM segment s)",
          "c.segment IN (SELECT s.id FROM segment s WHERE s.id > c.id) OR c.id = 3",
          "c.id IN (SELECT p.amount FROM payment p WHERE p.amount > 3 AND c.id = p.customer_id)",
          "EXISTS (SELECT 1 FROM payment p WHERE p.customer_id = c._key AND EXISTS (SELECT 1 FROM"
              + " refund r WHERE r.customer_id = p.customer_id))",
          "CASE WHEN EXISTS (SELECT 1 FROM segment) THEN 1 ELSE 2 END = 1",
          "EXISTS (SELECT 1 FROM customer d WHERE d.id = c.id AND d.segment <> c.segment)",
        }) {
      sql(CUSTOMERS + "WHERE " + where);
    }
  }

  @Test
  public void aSubqueryOverAPartitionedTableEquatesTheAffinityKeys() {
    for (String where :
        new String[] {
          "EXISTS (SELECT 1 FROM payment p)",
          "EXISTS (SELECT 1 FROM payment p WHERE p.customer_id = c.segment)",
          "EXISTS (SELECT 1 FROM payment p WHERE p.customer_id = c.id OR p.amount > 3)",
          "EXISTS (SELECT 1 FROM payment p WHERE customer_id = c.id)",
          "c.id IN (SELECT p.customer_id FROM payment p)",
          "c.id = (SELECT MAX(p.customer_id) FROM payment p)",
          "EXISTS (SELECT 1 FROM segment s WHERE s.id = c.id AND EXISTS (SELECT 1 FROM payment p"
              + " WHERE p.customer_id = s.id))",
        }) {
      assertRefused(
          CUSTOMERS + "WHERE " + where,
          "reads \"payment\".\"PAYMENT\" without the equality of the affinity keys",
          "write in the WHERE of the subquery P.CUSTOMER_ID = C.ID");
    }
  }

  @Test
  public void otherSubqueriesAreRefused() {
    for (String subquery :
        new String[] {
          "SELECT id, label FROM segment",
          "SELECT id FROM segment ORDER BY id",
          "SELECT id FROM segment LIMIT 1",
          "SELECT DISTINCT id FROM segment",
          "SELECT id FROM segment GROUP BY id",
          "SELECT id FROM segment UNION SELECT id FROM segment",
          "SELECT s.id FROM segment s JOIN payment p ON p.customer_id = s.id",
          "SELECT id AS x FROM segment",
          "VALUES (1)",
          "WITH x AS (SELECT 1) SELECT id FROM segment",
        }) {
      assertRefused(CUSTOMERS + "WHERE c.id IN (" + subquery + ")", "is refused");
    }
    assertRefused(CUSTOMERS + "WHERE EXISTS (SELECT 1)", "names no table");
    assertRefused(
        CUSTOMERS + "WHERE c.id > ALL (SELECT id FROM segment)", "a subquery reads other rows");
    assertRefused(CUSTOMERS + "WHERE EXISTS (SELECT 1 FROM segment c)", "two tables c");
    assertRefused(
        CUSTOMERS + "WHERE EXISTS (SELECT 1 FROM segment s WHERE RAND() > 1)",
        "gives another result with each call");
    assertRefused(
        CUSTOMERS + "WHERE c.id IN (SELECT RAWTOHEX(RAWTOHEX(RAWTOHEX(label))) FROM segment)",
        "its result can have 0 characters and 64 times the size of a row");
    assertRefused(
        () -> SelectRules.condition(CUSTOMER, "id IN (SELECT id FROM segment)"),
        "a subquery reads other rows",
        "sql= takes EXISTS (SELECT ...)");
  }

  @Test
  public void groupsHaveTheAffinityKeyAndBecomeOneRowEach() {
    RowSelect select =
        sql(
            PAYMENT,
            "SELECT p.customer_id, day, COUNT(*) AS n, SUM(amount) / COUNT(amount) + ? AS mean,"
                + " MIN(text) AS first FROM payment p WHERE amount > ? GROUP BY customer_id, day"
                + " HAVING COUNT(*) > ? AND MAX(amount) < 9");

    String clauses =
        " FROM "
            + PAYMENTS
            + "p WHERE amount > ? GROUP BY customer_id, day HAVING COUNT(*) > ? AND MAX(amount) <"
            + " 9";
    assertEquals(
        "SELECT p.customer_id, day, COUNT(*) AS n, SUM(amount) / COUNT(amount) + ? AS mean,"
            + " MIN(text) AS first, customer_id"
            + clauses,
        select.rows());
    assertEquals("SELECT COUNT(*) FROM (SELECT customer_id AS K" + clauses + ")", select.count());
    assertEquals("SELECT customer_id" + clauses, select.keys());
    assertTrue(select.isGrouped());
    assertTrue(select.readsOtherRows());
    assertArrayEquals(new Object[] {2L, 3L}, select.ofCount(new Object[] {1L, 2L, 3L}));

    sql(
        "SELECT c.id, MAX(s.label) AS label FROM customer c JOIN segment s ON s.id = c.segment"
            + " GROUP BY c.id");
    sql("SELECT id FROM customer GROUP BY id");
    sql("SELECT _key AS k, COUNT(*) AS n FROM customer GROUP BY _key");
    sql(
        "SELECT c.id, CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END AS often FROM customer c WHERE"
            + " EXISTS (SELECT 1 FROM segment s WHERE s.id = c.segment) GROUP BY c.id");
    sql(
        PAYMENT,
        "SELECT customer_id, AVG(CAST(amount AS DOUBLE)) AS a, CAST(SUM(amount) AS BIGINT) AS s"
            + " FROM payment GROUP BY customer_id");
  }

  @Test
  public void groupsThatLieOnSeveralNodesAreRefused() {
    assertRefused(
        "SELECT segment, COUNT(*) AS n FROM customer GROUP BY segment",
        "groups by segment, without the affinity key",
        "add CUSTOMER.ID to GROUP BY");
    assertRefused(
        "SELECT p.customer_id, COUNT(*) AS n FROM customer c LEFT JOIN payment p ON p.customer_id ="
            + " c.id GROUP BY p.customer_id",
        "without the affinity key",
        "add C.ID to GROUP BY");
    assertRefused("SELECT COUNT(*) AS n FROM customer", "the aggregate COUNT", "GROUP BY");
    assertRefused("SELECT id FROM customer HAVING id > 3", "has HAVING without GROUP BY");
    for (String table : new String[] {"INEXACT", "KEYLESS"}) {
      assertRefused(
          () ->
              sql(
                  TABLES.get(table),
                  "SELECT customer_id, COUNT(*) AS n FROM " + table + " GROUP BY customer_id"),
          "no group lies in one partition",
          "create cache " + table.toLowerCase() + " with an affinity key");
    }
    for (String groups :
        new String[] {
          "id + 1", "1", "?", "(id, name)", "ROLLUP(id)", "CUBE (id)", "GROUPING SETS (id)", "()"
        }) {
      assertRefused("SELECT id FROM customer GROUP BY " + groups, "sql \"SELECT id");
    }
  }

  @Test
  public void thereAreAtMostAsManyGroupsAsRowsOfTheCache() {
    String join = CUSTOMERS + "JOIN ";
    for (String tables :
        new String[] {
          "segment s ON s.id = c.segment GROUP BY c.id, s.label",
          "segment s ON c.segment = s._key AND s.label > 'a' GROUP BY c.id, s.label",
          "segment s ON s.id = c.segment JOIN segment t ON t.id = s.id GROUP BY c.id, t.label,"
              + " c.name",
          "customer d ON d.id = c.id GROUP BY c.id, d.name",
        }) {
      sql(join + tables);
    }
    for (String tables :
        new String[] {
          "segment s ON s.label = c.name GROUP BY c.id, s.label",
          "segment s ON s.id >= c.segment GROUP BY c.id, s.label",
          "segment s ON s.id = c.segment OR s.id = 3 GROUP BY c.id, s.label",
          "payment p ON p.customer_id = c.id GROUP BY c.id, p.day",
          "payment p ON p.customer_id = c.id JOIN segment s ON s.id = p.day GROUP BY c.id, s.label",
          "payment p ON p.customer_id = c.id GROUP BY c.id, nope",
        }) {
      assertRefused(
          join + tables,
          "of which a row of the cache can have several values",
          "at most as many as rows of \"customer\".\"CUSTOMER\"");
    }
    sql(
        PAYMENT,
        "SELECT p.day FROM payment p JOIN customer c ON c.id = p.customer_id GROUP BY"
            + " p.customer_id, p.day, c.name");
  }

  @Test
  public void aGroupHasItsColumnsAndAggregates() {
    String[][] refused = {
      {"name", "add name to GROUP BY, or write MIN(name)"},
      {"UPPER(name) AS n", "add name to GROUP BY"},
      {"COUNT(DISTINCT name) AS n", "all values of a group on its heap"},
      {"SUM(DISTINCT segment) AS n", "all values of a group on its heap"},
      {"GROUP_CONCAT(name) AS n", "window functions and aggregates"},
      {"LISTAGG(name) AS n", "the aggregate LISTAGG"},
      {"STDDEV(segment) AS n", "the aggregate STDDEV"},
      {"COUNT(*) OVER () AS n", "window functions and aggregates"},
      {"SUM(COUNT(*)) AS n", "the aggregate COUNT"},
      {"SUM(name) AS n", "it calculates with a text"},
      {"AVG(segment * 1.5) AS n", "write AVG(CAST(... AS DOUBLE))"},
      {"SUM(id, segment) AS n", "an aggregate has one argument"},
      {"SUM(*) AS n", "is refused"},
      {"MIN((SELECT 1)) AS n", "a subquery reads other rows"},
      {"(SELECT MAX(s.id) FROM segment s) AS n", "a subquery reads other rows"},
      {"MIN(segment) AS ID", "calls MIN(segment) ID, as a grouped column is called"},
      {"COUNT(*) AS id", "calls COUNT(*) id, as a grouped column is called"},
      {"COUNT(*)", "has no name"},
      {"RAWTOHEX(RAWTOHEX(RAWTOHEX(MAX(name)))) AS n", "its result can have"},
    };
    for (String[] column : refused) {
      assertRefused("SELECT " + column[0] + " FROM customer GROUP BY id", column[1]);
    }
    assertRefused(
        "SELECT c.id, p.customer_id AS ID2 FROM customer c JOIN payment p ON p.customer_id = c.id"
            + " GROUP BY c.id",
        "add p.customer_id to GROUP BY");
    assertRefused(
        "SELECT id, COUNT(*) AS n FROM customer GROUP BY id HAVING n > 1", "add n to GROUP BY");
    assertRefused(
        "SELECT id FROM customer GROUP BY id HAVING id IN (SELECT id FROM segment)",
        "a subquery reads other rows");
    assertRefused("SELECT id FROM customer WHERE COUNT(*) > 1 GROUP BY id", "the aggregate COUNT");
    for (String clause : new String[] {"ORDER BY id", "LIMIT 3", "WINDOW w AS (ORDER BY id)"}) {
      assertRefused(
          "SELECT id FROM customer GROUP BY id " + clause, "has the clause ", "read the rows");
    }
    assertRefused("SELECT DISTINCT id FROM customer GROUP BY id", "has the clause DISTINCT");
  }

  private static SqlTable payment(String name, String type, Distribution distribution) {
    return table(
        name,
        new SqlTable.Affinity(false, Set.of("CUSTOMER_ID"), type, distribution),
        Map.of("CUSTOMER_ID", type, "AMOUNT", INT, "DAY", INT, "TEXT", TEXT));
  }

  private static SqlTable keyed(String name, SqlTable.Affinity affinity) {
    return table(name, affinity, Map.of("ID", INT));
  }

  private static SqlTable table(
      String name, SqlTable.Affinity affinity, Map<String, String> columns) {
    return new SqlTable(name.toLowerCase(), name.toLowerCase(), name, columns, affinity, false);
  }

  private static Distribution distribution(int partitions, String filter, int parallelism) {
    return new Distribution("Rendezvous", partitions, filter, parallelism);
  }

  private static Optional<SqlTable> find(String schema, String name) {
    return Optional.ofNullable(schema == null ? TABLES.get(name) : null);
  }

  private static RowSelect sql(String text) {
    return sql(CUSTOMER, text);
  }

  private static RowSelect sql(SqlTable table, String text) {
    return SelectRules.statement(table, SelectOfTablesTest::find, text);
  }

  private static void assertRefused(String text, String... parts) {
    assertRefused(() -> sql(text), parts);
  }

  private static void assertRefused(ThrowingRunnable reading, String... parts) {
    Refusals.assertRefused(ERROR_CODE_SQL_INVALID, reading, parts);
  }
}
