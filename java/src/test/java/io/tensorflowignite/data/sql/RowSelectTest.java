package io.tensorflowignite.data.sql;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.Refusals;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/**
 * The SQL that is allowed over a table, and the errors of other SQL.
 *
 * <p>Promise (sql): Ignite runs only SQL that is checked, and no text of a caller.
 */
public class RowSelectTest {
  private static final SqlTable TABLE =
      new SqlTable("digits", "digits", "DIGIT", Map.of(), SqlTable.Affinity.UNKNOWN, false);
  private static final SqlTable TYPED =
      new SqlTable(
          "digits",
          "digits",
          "DIGIT",
          Map.of(
              "N", "java.lang.Integer",
              "X", "java.lang.Double",
              "PRICE", "java.math.BigDecimal",
              "NAME", "java.lang.String",
              "U", "java.util.UUID"),
          SqlTable.Affinity.UNKNOWN,
          false);
  private static final String FROM = " FROM \"digits\".\"DIGIT\"";
  private static final String AS = FROM + " AS \"DIGIT\"";

  @Test
  public void aConditionBecomesItsRowsItsCountAndItsKeys() {
    RowSelect select = SelectRules.condition(TABLE, "label < ? AND (name LIKE 'a%' OR n IS NULL)");
    String where = " WHERE label < ? AND (name LIKE 'a%' OR n IS NULL)";

    assertEquals("SELECT _VAL, _KEY" + FROM + where, select.rows());
    assertEquals("SELECT COUNT(*)" + FROM + where, select.count());
    assertEquals("SELECT _KEY" + FROM + where, select.keys());
    assertTrue(select.columns().isEmpty());
    select.requireParameters(1);
  }

  @Test
  public void aSelectKeepsItsOrderAndItsNamesAsTheyAreWritten() {
    RowSelect select =
        SelectRules.statement(
            TABLE,
            "select d.label, \"Pixels\" as img, n * ? as \"Twice n\" from Digit d where n > ?;");

    assertEquals(
        "SELECT d.label, \"Pixels\" AS img, n * ? AS \"Twice n\", _KEY"
            + FROM
            + " AS d WHERE n > ?",
        select.rows());
    assertEquals("SELECT COUNT(*)" + FROM + " AS d WHERE n > ?", select.count());
    assertEquals(
        List.of("label", "img", "Twice n"),
        select.columns().stream().map(column -> column.name).collect(Collectors.toList()));
    assertEquals(
        Arrays.asList("LABEL", "Pixels", null),
        select.columns().stream().map(column -> column.source).collect(Collectors.toList()));
    select.requireParameters(2);
    assertArrayEquals(new Object[] {7L}, select.ofCount(new Object[] {2L, 7L}));
  }

  @Test
  public void theTableIsKnownByItsNamesInSqlOnly() {
    assertEquals("SELECT *, _KEY" + AS, SelectRules.statement(TABLE, "SELECT * FROM DIGIT").rows());
    assertEquals(
        "SELECT a, _KEY" + AS,
        SelectRules.statement(TABLE, "SELECT a FROM \"digits\".\"DIGIT\"").rows());
    assertRefused(
        sql("SELECT a FROM other"), "reads from other", "write FROM \"digits\".\"DIGIT\"");
    for (String other : List.of("digits.Digit", "\"other\".DIGIT", "\"Digit\"", "SYS.NODES")) {
      assertRefused(
          sql("SELECT a FROM " + other), "the first table of a SELECT is the table of its");
    }
    for (String hint : List.of("USE INDEX (i)", "TABLESAMPLE SYSTEM (10)", "x(b)")) {
      assertRefused(sql("SELECT a FROM DIGIT " + hint), "and without hints");
    }
    assertRefused(sql("SELECT a FROM c.\"digits\".DIGIT"), "and without hints");
    assertRefused(sql("SELECT 1 AS one"), "names no table");
    for (String none : List.of("CSVREAD('/etc/passwd')", "(SELECT a FROM DIGIT)")) {
      assertRefused(sql("SELECT a FROM " + none), "which is no table");
    }
  }

  @Test
  public void aDoubleThatIsComparedWithADecimalIsADecimal() {
    assertEquals(List.of(new BigDecimal("0.1")), values("price = ?", 0.1));
    assertEquals(List.of(0.1, new BigDecimal("0.5")), values("x < ? AND price > ?", 0.1, 0.5));
    assertEquals(
        List.of(new BigDecimal("1.0"), new BigDecimal("2.5")),
        values("price BETWEEN ? AND ?", 1.0, 2.5));
    assertEquals(List.of(7L, new BigDecimal("2.5")), values("price IN (?, ?, 3)", 7L, 2.5));
    assertEquals(List.of(new BigDecimal("2.5")), values("price IS NOT DISTINCT FROM ?", 2.5));
    // Ignite compares these as doubles.
    assertEquals(List.of(0.1), values("price * ? < 5", 0.1));
    assertEquals(List.of(0.1), values("x BETWEEN price AND ?", 0.1));
    assertEquals(List.of(Double.NaN), values("x < ?", Double.NaN));
    assertRefused(
        () -> SelectRules.condition(TYPED, "price < ?", Double.POSITIVE_INFINITY),
        "it compares a decimal with Infinity",
        "CAST(... AS DOUBLE)");
  }

  private static String clauses(String condition, Object... parameters) {
    String count = SelectRules.condition(TYPED, condition, parameters).count();
    return count.substring("SELECT COUNT(*)".length());
  }

  private static List<Object> values(String where, Object... parameters) {
    return List.of(SelectRules.condition(TYPED, where, parameters).values());
  }

  @Test
  public void ofDoublesBesideIntegersValuesAreComputedAsDoubles() {
    assertEquals(
        FROM + " WHERE n / CAST(? AS DOUBLE) > ? AND COALESCE(n, CAST(? AS DOUBLE)) = ?",
        clauses("n / ? > ? AND COALESCE(n, ?) = ?", 2.0, 0.5, 0.5, 0.5));
    assertEquals(
        FROM + " WHERE CASE WHEN n > ? THEN n ELSE CAST(? AS DOUBLE) END > 0",
        clauses("CASE WHEN n > ? THEN n ELSE ? END > 0", 0.5, 0.5));
    assertEquals(FROM + " WHERE n + ? > 0", clauses("n + ? > 0", 2L));
    assertEquals(FROM + " WHERE price * ? > 0", clauses("price * ? > 0", 0.1));
  }

  @Test
  public void noIntegerIsAmongFractions() {
    assertEquals(FROM + " WHERE CAST(n AS DECIMAL) IN (1.5, 3)", clauses("n IN (1.5, 3)"));
    assertEquals(
        FROM + " WHERE CAST(n AS DECIMAL) NOT IN (?, ?)", clauses("n NOT IN (?, ?)", 1.5, 3L));
    assertEquals(
        FROM + " WHERE CAST(n AS DECIMAL) = 1.5 OR n = 3.0", clauses("n = 1.5 OR n = 3.0"));
    assertEquals(FROM + " WHERE n IN (?, ?)", clauses("n IN (?, ?)", 1.0, 3L));
    assertEquals(FROM + " WHERE x IN (1.5, 3)", clauses("x IN (1.5, 3)"));
  }

  @Test
  public void aDoubleWithASignIsADecimalToo() {
    assertEquals(List.of(new BigDecimal("-2.5")), values("price = -?", 2.5));
    assertEquals(FROM + " WHERE price = +?", clauses("price = -?", 2.5));
  }

  @Test
  public void computedColumnsThatAreNeitherNumbersNorTextsAreKnown() {
    RowSelect select =
        SelectRules.statement(
            TYPED,
            "SELECT u, CAST(name AS UUID) AS a, CASE WHEN n = 1 THEN u END AS b, COALESCE(u, NULL)"
                + " AS c, name || 'x' AS d, CAST(name AS BINARY) AS e, n + 1 AS f, other AS g,"
                + " COALESCE(other, NULL) AS h FROM DIGIT");
    assertEquals(
        List.of("a", "b", "c"),
        select.columns().stream()
            .filter(column -> column.isFixed)
            .map(column -> column.name)
            .collect(Collectors.toList()));
  }

  @Test
  public void clausesOverAllRowsAreRefusedByName() {
    String[][] clauses = {
      {"SELECT a FROM DIGIT LIMIT 3", "LIMIT"},
      {"SELECT a FROM DIGIT LIMIT ?", "LIMIT"},
      {"SELECT a FROM DIGIT OFFSET 3", "OFFSET"},
      {"SELECT a FROM DIGIT FETCH FIRST 3 ROWS ONLY", "FETCH"},
      {"SELECT TOP 3 a FROM DIGIT", "TOP"},
      {"SELECT a FROM DIGIT ORDER BY a", "ORDER BY"},
      {"SELECT DISTINCT a FROM DIGIT", "DISTINCT"},
      {"SELECT UNIQUE a FROM DIGIT", "DISTINCT"},
      {"SELECT a FROM DIGIT FOR UPDATE", "FOR UPDATE"},
      {"SELECT a FROM DIGIT QUALIFY 1 = 1", "QUALIFY"},
      {"WITH x AS (SELECT 1) SELECT a FROM DIGIT", "WITH"},
    };
    for (String[] clause : clauses) {
      assertRefused(
          sql(clause[0]),
          "has the clause " + clause[1],
          "each owner reads its partitions separately");
    }
    for (String set : new String[] {"UNION", "UNION ALL", "INTERSECT", "EXCEPT", "MINUS"}) {
      assertRefused(sql("SELECT a FROM DIGIT " + set + " SELECT a FROM DIGIT"), "combines SELECTs");
    }
    assertRefused(sql("SELECT a FROM DIGIT, DIGIT b"), "has the join DIGIT b");
    assertRefused(sql("SELECT a FROM DIGIT JOIN other ON a = b"), "there is no such table");
    assertRefused(sql("SELECT a INTO x FROM DIGIT"), "more than columns, tables, a condition");
    assertRefused(sql("SELECT * EXCEPT (a) FROM DIGIT"), "a star means all columns");
  }

  @Test
  public void sqlThatNeedsOtherRowsOrChangesItsResultIsRefused() {
    String[] aggregates = {
      "COUNT(*) > 1",
      "SUM(a) > 1",
      "max(a) = a",
      "\"COUNT\"(a) > 1",
      "GROUP_CONCAT(a) = 'x'",
      "a + AVG(b) > 1",
      "CASE WHEN MIN(a) > 1 THEN TRUE ELSE FALSE END",
      "digits.COUNT(a) > 1"
    };
    for (String text : aggregates) {
      assertRefused(where(text), "is refused; ", "read separately");
    }
    assertRefused(where("SUM(a) OVER (PARTITION BY b) > 1"), "window functions and aggregates");
    assertRefused(where("a = fn(b ORDER BY c)"), "arguments of a function are values of one row");
    assertEachRefused(
        "a subquery reads other rows",
        "a IN (SELECT a FROM other)",
        "EXISTS (SELECT 1)",
        "a > ALL (SELECT 1)",
        "a = (SELECT 1)",
        "a IN (VALUES (1))",
        "(a, b) IN (SELECT 1, 2)",
        "ABS((SELECT 1)) = 1",
        "NOT (a BETWEEN 1 AND (SELECT 2))",
        "CAST((SELECT 1) AS INT) = a",
        "a LIKE 'x' ESCAPE (SELECT 'y')");
    assertEachRefused(
        "gives another result with each call",
        "ROWNUM < 5",
        "RAND() < 0.1",
        "a > NOW()",
        "a > SYSDATE",
        "a > CURRENT_TIMESTAMP",
        "a > CURRENT_DATE()",
        "a = RANDOM_UUID()",
        "_ROWID_ = 1");
    assertRefused(where("TF_PREDICT('digits', a) > 1"), "tensorflow-ignite predict");
    assertRefused(where("a = NEXT VALUE FOR s"), "gives another result with each call");
    assertEachRefused(
        "uses files, sessions or other tables",
        "FILE_READ('/etc/passwd') = a",
        "CSVWRITE('/tmp/x', 'SELECT 1') = 1",
        "LINK_SCHEMA('a', 'b', 'c', 'd', 'e', 'f') = 1",
        "a IN (TABLE(x))",
        "SET(a, 1) = 1",
        "SESSION_ID() = 1",
        "CURRENT_USER() = 'x'");
  }

  @Test
  public void aConditionIsOneExpressionByItself() {
    for (String text :
        new String[] {
          "a = 1) OR (1 = 1",
          "a = 1; DROP TABLE DIGIT",
          "a = 1 ORDER BY a",
          "a = 1 LIMIT 3",
          "a = 1 UNION SELECT a FROM DIGIT",
          "a =",
          "a = 1 OR",
          " ",
          "WHERE a = 1",
          "a = 'open",
          "a ! b",
          "(".repeat(5000) + "a"
        }) {
      assertRefused(where(text), "cannot be read", "where must be one condition");
    }
    String nested = "(".repeat(11);
    assertRefused(where(nested + "a"), "more than 10 levels deep", "a AND b AND c needs none");
    assertRefused(
        where("a IN (" + String.join(",", Collections.nCopies(10_000, "1")) + ")"),
        "SQL may have 16384 characters");
    assertRefused(
        where("a IN (" + String.join(",", Collections.nCopies(500, "1")) + ")"),
        "more than 1000 words, numbers and signs");
    assertEquals(
        "SELECT COUNT(*)" + FROM + " WHERE a = 1",
        SelectRules.condition(TABLE, "a = 1 -- AND b = 2").count());
    assertEquals(
        "SELECT COUNT(*)" + FROM + " WHERE a = 'x -- '' ) ; \"'",
        SelectRules.condition(TABLE, "a = 'x -- '' ) ; \"'").count());
  }

  @Test
  public void onlyOneSelectIsRead() {
    assertRefused(sql("SELECT a FROM DIGIT; SELECT b FROM DIGIT"), "holds 2 statements");
    assertRefused(sql("SELECT a FROM DIGIT; DROP TABLE DIGIT"), "holds 2 statements");
    for (String text :
        new String[] {
          "DELETE FROM DIGIT",
          "UPDATE DIGIT SET a = 1",
          "INSERT INTO DIGIT VALUES (1)",
          "MERGE INTO DIGIT KEY(a) VALUES (1)",
          "CREATE TABLE x(a INT)",
          "DROP TABLE DIGIT",
          "ALTER TABLE DIGIT ADD COLUMN b INT",
          "CREATE INDEX i ON DIGIT(a)",
          "EXPLAIN SELECT a FROM DIGIT",
          "CALL f()",
          "SET x = 1",
          "VALUES (1)",
          "TABLE DIGIT",
          "(SELECT a FROM DIGIT)",
          "COMMIT",
        }) {
      assertRefused(sql(text), "sql \"" + text + "\" ", "");
    }
    assertRefused(sql("SELECT"), "cannot be read", "sql must be one SELECT");
    assertRefused(sql("KILL QUERY '1'"), "cannot be read");
    assertRefused(sql(" "), "holds 0 statements");
  }

  @Test
  public void columnsHaveDifferentNames() {
    assertRefused(sql("SELECT a * 2 FROM DIGIT"), "column 1, a * 2, has no name", "AS name");
    assertRefused(sql("SELECT a, b AS a FROM DIGIT"), "has two columns a");
    assertRefused(sql("SELECT *, * FROM DIGIT"), "has two columns *");
    assertRefused(sql("SELECT SUM(a) AS s FROM DIGIT"), "the aggregate SUM");
    assertRefused(sql("SELECT (SELECT 1) AS s FROM DIGIT"), "names no table");
    assertRefused(sql("SELECT ROW_NUMBER() OVER (ORDER BY a) AS s FROM DIGIT"), "window functions");
  }

  @Test
  public void parametersArePlainQuestionMarksOneEach() {
    assertEachRefused("a parameter is a plain question mark", "a = ?1", "a = :x", "a = @x");
    RowSelect select =
        SelectRules.condition(
            TABLE, "a = ? AND b IN (?, UPPER(?)) AND c BETWEEN ? AND -? AND d = '?'");
    select.requireParameters(5);
    assertRefused(() -> select.requireParameters(4), "5 question marks, but 4 parameters");
  }

  private static ThrowingRunnable where(String text) {
    return () -> SelectRules.condition(TABLE, text);
  }

  private static ThrowingRunnable sql(String text) {
    return () -> SelectRules.statement(TABLE, text);
  }

  private static void assertEachRefused(String part, String... conditions) {
    for (String condition : conditions) {
      assertRefused(where(condition), part);
    }
  }

  private static void assertRefused(ThrowingRunnable reading, String... parts) {
    Refusals.assertRefused(ERROR_CODE_SQL_INVALID, reading, parts);
  }
}
