package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Full;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.Parameter;
import io.tensorflowignite.v1.ReadCommand;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/**
 * SELECTs over several tables and over groups, on tables of random rows: the answers of the owners
 * together are the answer of the whole cluster, which Ignite's own SQL gives.
 *
 * <p>Promise (sql): The answers of all owners to a SELECT are together the answer of the cluster.
 */
public class ItSqlTables extends DataTest {
  private static final int PARTITIONS = 32;
  private static final int CUSTOMERS = 150;
  private static final int PAYMENTS = 500;

  private static final List<String> OF_CUSTOMERS =
      List.of(
          // Joins.
          "SELECT c.id AS a, p.id AS b, p.amount AS d FROM Customer c JOIN Payment p ON"
              + " p.customer_id = c.id",
          "SELECT c.id AS a, p.id AS b FROM Customer c LEFT JOIN Payment p ON p.customer_id = c.id",
          "SELECT c.id AS a, p.id AS b FROM Customer c LEFT JOIN Payment p ON p.customer_id = c.id"
              + " AND p.amount > 20 WHERE c.score IS NOT NULL",
          "SELECT c.id AS a, p.id AS b FROM Customer c LEFT JOIN Payment p ON p.customer_id = c.id"
              + " WHERE p.id IS NULL",
          "SELECT c.id AS a, p.id AS b, v.id AS d FROM Customer c JOIN Payment p ON p.customer_id ="
              + " c.id JOIN Visit v ON v.customer_id = p.customer_id AND v.amount < p.amount",
          "SELECT c.id AS a, p.id AS b, v.id AS d FROM Customer c LEFT JOIN Payment p ON"
              + " p.customer_id = c.id LEFT JOIN Visit v ON v.customer_id = p.customer_id",
          "SELECT c.id AS a, s.label AS b FROM Customer c JOIN Segment s ON s.id = c.segment",
          "SELECT c.id AS a, s.label AS b FROM Customer c LEFT JOIN Segment s ON s.id = c.segment",
          "SELECT c.id AS a, s.id AS b FROM Customer c JOIN Segment s ON c.score BETWEEN s.low AND"
              + " s.high",
          "SELECT c.id AS a, s.id AS b FROM Customer c LEFT JOIN Segment s ON s.low > c.score",
          "SELECT c.id AS a, p.id AS b, s.label AS d FROM Customer c LEFT JOIN Segment s ON s.id ="
              + " c.segment JOIN Payment p ON p.customer_id = c.id AND p.amount > s.low",
          "SELECT c.id AS a, d.name AS b FROM Customer c JOIN Customer d ON d.id = c.id",
          // Subqueries.
          "SELECT c.id AS a, (SELECT COUNT(*) FROM Payment p WHERE p.customer_id = c.id) AS b,"
              + " (SELECT MAX(p2.amount) FROM Payment p2 WHERE p2.customer_id = c.id AND p2.amount"
              + " < 30) AS d FROM Customer c",
          "SELECT c.id AS a, (SELECT s.label FROM Segment s WHERE s.id = c.segment) AS b FROM"
              + " Customer c",
          "SELECT c.id AS a FROM Customer c WHERE EXISTS (SELECT 1 FROM Payment p WHERE"
              + " p.customer_id = c.id AND p.amount > 25)",
          "SELECT c.id AS a FROM Customer c WHERE NOT EXISTS (SELECT * FROM Payment p WHERE"
              + " p.customer_id = c.id)",
          "SELECT c.id AS a FROM Customer c WHERE c.segment IN (SELECT s.id FROM Segment s WHERE"
              + " s.low > 10)",
          "SELECT c.id AS a FROM Customer c WHERE c.segment NOT IN (SELECT s.id FROM Segment s"
              + " WHERE s.low > 10)",
          "SELECT c.id AS a FROM Customer c WHERE c.score > (SELECT AVG(s.low) FROM Segment s)",
          "SELECT c.id AS a FROM Customer c WHERE c.segment IN (SELECT p.amount FROM Payment p"
              + " WHERE p.customer_id = c.id)",
          "SELECT c.id AS a, s.id AS b FROM Customer c JOIN Segment s ON s.low < c.score"
              + " WHERE EXISTS (SELECT 1 FROM Payment p WHERE p.customer_id = c.id AND p.amount >"
              + " s.low) AND s.id IN (SELECT s3.id FROM Segment s3)",
          // Without a fixed order of joins, Ignite begins with the small table, and then reads only
          // its primary partitions: rows are missing.
          "SELECT c.id AS a, s.id AS b FROM Customer c JOIN Segment s ON c.id = s.low WHERE EXISTS"
              + " (SELECT 1 FROM Payment p WHERE p.customer_id = c.id)",
          // Groups.
          "SELECT c.id AS a, COUNT(*) AS n, COUNT(p.amount) AS m, SUM(p.amount) AS s,"
              + " MIN(p.note) AS f, MAX(p.amount) AS g FROM Customer c JOIN Payment p ON"
              + " p.customer_id = c.id GROUP BY c.id",
          "SELECT c.id AS a, COUNT(p.id) AS n, SUM(p.amount) AS s FROM Customer c LEFT JOIN Payment"
              + " p ON p.customer_id = c.id GROUP BY c.id",
          "SELECT c.id AS a, c.segment AS b, s.label AS d, COUNT(p.id) AS n FROM Customer c LEFT"
              + " JOIN Segment s ON s.id = c.segment LEFT JOIN Payment p ON p.customer_id = c.id"
              + " GROUP BY c.id, c.segment, s.label HAVING COUNT(p.id) > 1",
          "SELECT c.id AS a, MAX(s.label) AS d FROM Customer c JOIN Segment s ON s.low < c.score"
              + " WHERE EXISTS (SELECT 1 FROM Payment p WHERE p.customer_id = c.id) GROUP BY c.id");

  private static final List<String> OF_PAYMENTS =
      List.of(
          "SELECT customer_id AS a, COUNT(*) AS n, SUM(amount) AS s, SUM(CAST(amount AS BIGINT)) AS"
              + " l, AVG(CAST(amount AS DOUBLE)) AS m, SUM(price) AS p, MIN(price) AS q FROM"
              + " Payment GROUP BY customer_id",
          "SELECT customer_id AS a, amount AS b, COUNT(*) AS n FROM Payment GROUP BY customer_id,"
              + " amount",
          "SELECT customer_id AS a FROM Payment WHERE amount > 10 GROUP BY customer_id HAVING"
              + " SUM(amount) > 40 AND COUNT(*) < 6",
          "SELECT p.customer_id AS a, c.name AS b, COUNT(*) AS n FROM Payment p JOIN Customer c ON"
              + " c.id = p.customer_id GROUP BY p.customer_id, c.name",
          "SELECT p.id AS a, c.name AS b FROM Payment p LEFT JOIN Customer c ON c.id ="
              + " p.customer_id");

  private static final List<String> OF_SEGMENTS =
      List.of(
          "SELECT s.id AS a, t.label AS b FROM Segment s JOIN Segment t ON t.low < s.low",
          "SELECT s.id AS a FROM Segment s WHERE NOT EXISTS (SELECT 1 FROM Segment t WHERE t.low <"
              + " s.low)",
          "SELECT s.id AS a, COUNT(*) AS n FROM Segment s JOIN Segment t ON t.low < s.low GROUP BY"
              + " s.id");

  @Test
  @Category(Full.class)
  public void theAnswersOfTheOwnersAreThatOfTheCluster() throws Exception {
    for (int backups = 0; backups < 2; backups++) {
      for (int parallelism : new int[] {1, 3}) {
        Random random = new Random(31 * backups + parallelism);
        createTables(random, backups, parallelism);
        for (String sql : OF_CUSTOMERS) {
          assertSame("customer", sql, random);
        }
        for (String sql : OF_PAYMENTS) {
          assertSame("payment", sql, random);
        }
        for (String sql : OF_SEGMENTS) {
          assertSame("segment", sql, random);
        }
        destroyCachesAndProveThatNothingLeaked();
      }
    }
  }

  @Test
  public void igniteRestrictsALocalQueryToPartitionsOfAllPartitionedTablesAndNotToPrimaryOnes() {
    createTables(new Random(6), 1, 1);
    ClusterNode node = ignite.cluster().localNode();
    Affinity<Integer> affinity = ignite.affinity("customer");
    int[] copies = affinity.allPartitions(node);
    int[] primary = affinity.primaryPartitions(node);
    String sql =
        "SELECT c.id, p.id FROM Customer c JOIN Payment p ON p.customer_id = c.id WHERE EXISTS"
            + " (SELECT 1 FROM Visit v WHERE v.customer_id = c.id)";

    for (int[] partitions : new int[][] {copies, primary, {primary[0]}}) {
      Set<Integer> restricted = IntStream.of(partitions).boxed().collect(Collectors.toSet());
      assertEquals(
          query(sql).stream()
              .filter(row -> restricted.contains(affinity.partition((Integer) row.get(0))))
              .count(),
          local(sql, partitions).size());
    }
    assertTrue(local(sql, copies).size() > local(sql, primary).size());
    assertEquals(12, local("SELECT id FROM Segment", new int[] {primary[0]}).size());
  }

  @Test
  public void parametersAreBoundInTheOrderOfTheTextAndAggregatesHaveTheTypesOfSql()
      throws Exception {
    createTables(new Random(7), 1, 1);
    ReadCommand.Builder command =
        command("customer")
            .setSql(
                "SELECT c.id + ? AS a, (SELECT COUNT(*) FROM Payment q WHERE q.customer_id = c.id"
                    + " AND q.amount < ?) AS n FROM Customer c JOIN Payment p ON p.customer_id ="
                    + " c.id AND p.amount > ? WHERE c.id < ?");
    for (int value : new int[] {1000, 20, 10, 60}) {
      command.addParameters(Parameter.newBuilder().setIntValue(value));
    }
    List<List<Object>> expected =
        query(
            "SELECT c.id + 1000 AS a, (SELECT COUNT(*) FROM Payment q WHERE q.customer_id = c.id"
                + " AND q.amount < 20) AS n FROM Customer c JOIN Payment p ON p.customer_id = c.id"
                + " AND p.amount > 10 WHERE c.id < 60");

    assertFalse(expected.isEmpty());
    assertEquals(expected.size(), cluster.info(command.build()).getRecords());
    assertEquals(sorted(expected), sorted(cluster.readAll(command.build())));

    ReadCommand groups =
        command("payment")
            .setSql(
                "SELECT customer_id, COUNT(*) AS n, SUM(id) AS s, AVG(id) AS m, SUM(CAST(id AS"
                    + " BIGINT)) AS l, CAST(SUM(id) AS BIGINT) AS c, AVG(CAST(id AS DOUBLE)) AS d,"
                    + " SUM(price) AS p, MAX(note) AS t FROM Payment GROUP BY customer_id")
            .setNulls(Nulls.NULLS_KEEP)
            .build();
    assertEquals(
        List.of(
            "customer_id: Int(32, true)",
            "n: Int(64, true)",
            "s: Int(64, true)",
            "m: Int(32, true)",
            "l: Decimal(38, 0, 128)",
            "c: Int(64, true)",
            "d: FloatingPoint(DOUBLE)",
            "p: Decimal(38, 2, 128)",
            "t: Utf8"),
        cluster.schema(groups).getFields().stream()
            .map(Object::toString)
            .collect(Collectors.toList()));
  }

  @Test
  public void aSelectThatOwnersCannotAnswerAloneIsRefused() {
    createTables(new Random(9), 0, 1);
    sql(
        "CREATE TABLE Apart (id INT PRIMARY KEY, x INT) WITH"
            + " \"TEMPLATE=PARTITIONED,CACHE_NAME=apart\"");
    sql(
        "CREATE TABLE Wide (id BIGINT PRIMARY KEY, x INT) WITH"
            + " \"TEMPLATE=tables1,CACHE_NAME=wide\"");
    assertInvalid("they have 1024 and 32 partitions", "JOIN Apart a ON a.id = c.id");
    assertInvalid(
        "affinity keys are of types java.lang.Long and java.lang.Integer",
        "JOIN Wide a ON a.id = c.id");
    // Only the rows show that a subquery has more than one value.
    ReadCommand several =
        command("customer")
            .setSql(
                "SELECT (SELECT p.id FROM Payment p WHERE p.customer_id = c.id) AS a FROM Customer"
                    + " c")
            .build();
    assertInvalid(ERROR_CODE_SQL_INVALID, "more than one row", () -> cluster.readAll(several));
  }

  private static void assertInvalid(String text, String clauses) {
    assertInvalid(
        ERROR_CODE_SQL_INVALID,
        text,
        () ->
            cluster.info(
                command("customer").setSql("SELECT c.id FROM Customer c " + clauses).build()));
  }

  /** All owners together, also for two parts of the partitions, with their counts. */
  private static void assertSame(String cache, String sql, Random random) throws Exception {
    List<String> expected = sorted(query(sql));
    assertFalse(sql, expected.isEmpty());
    ReadCommand command = command(cache).setSql(sql).setNulls(Nulls.NULLS_KEEP).build();

    assertEquals(sql, expected.size(), cluster.info(command).getRecords());
    assertEquals(sql, expected, sorted(cluster.readAll(command)));

    List<Integer> partitions =
        IntStream.range(0, ignite.affinity(cache).partitions())
            .boxed()
            .collect(Collectors.toList());
    Collections.shuffle(partitions, random);
    int half = partitions.size() / 2;
    List<List<Object>> rows = new ArrayList<>();
    long counted = 0;
    for (List<Integer> part :
        List.of(partitions.subList(0, half), partitions.subList(half, partitions.size()))) {
      ReadCommand some = command.toBuilder().addAllPartitions(part).build();
      counted += cluster.info(some).getRecords();
      rows.addAll(cluster.readAll(some));
    }
    assertEquals(sql, expected.size(), counted);
    assertEquals(sql, expected, sorted(rows));
  }

  private static List<String> sorted(List<List<Object>> rows) {
    return rows.stream()
        .map(row -> row.stream().map(ItSqlTables::text).collect(Collectors.joining("|")))
        .sorted()
        .collect(Collectors.toList());
  }

  private static String text(Object value) {
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).stripTrailingZeros().toPlainString();
    }
    return value instanceof Number
        ? new BigDecimal(value.toString()).stripTrailingZeros().toPlainString()
        : String.valueOf(value);
  }

  private static void createTables(Random random, int backups, int parallelism) {
    ignite.addCacheConfiguration(
        new CacheConfiguration<>("tables" + parallelism + "*")
            .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS))
            .setQueryParallelism(parallelism));
    ignite.addCacheConfiguration(
        new CacheConfiguration<>("everywhere*")
            .setCacheMode(CacheMode.REPLICATED)
            .setAffinity(new RendezvousAffinityFunction(false, 16)));
    String with = " WITH \"TEMPLATE=tables" + parallelism + ",BACKUPS=" + backups;
    sql(
        "CREATE TABLE Customer (id INT PRIMARY KEY, segment INT, name VARCHAR, score DOUBLE)"
            + with
            + ",CACHE_NAME=customer\"");
    for (String table : new String[] {"Payment", "Visit"}) {
      sql(
          "CREATE TABLE "
              + table
              + " (id INT, customer_id INT, amount INT, price DECIMAL(10, 2), note VARCHAR, PRIMARY"
              + " KEY (id, customer_id))"
              + with
              + ",AFFINITY_KEY=customer_id,CACHE_NAME="
              + table.toLowerCase()
              + "\"");
    }
    sql(
        "CREATE TABLE Segment (id INT PRIMARY KEY, label VARCHAR, low INT, high INT) WITH"
            + " \"TEMPLATE=everywhere,CACHE_NAME=segment\"");
    for (int i = 0; i < 12; i++) {
      int low = random.nextInt(40);
      sql("INSERT INTO Segment VALUES (?, ?, ?, ?)", i, "label " + i % 7, low, low + 15);
    }
    for (int i = -10; i < CUSTOMERS; i++) {
      sql(
          "INSERT INTO Customer VALUES (?, ?, ?, ?)",
          i,
          orNull(random, random.nextInt(16)),
          orNull(random, "name " + random.nextInt(50)),
          orNull(random, random.nextInt(50) * 1.0));
    }
    for (int i = 0; i < PAYMENTS; i++) {
      String table = random.nextInt(3) == 0 ? "Visit" : "Payment";
      sql(
          "INSERT INTO " + table + " VALUES (?, ?, ?, ?, ?)",
          i,
          random.nextInt(CUSTOMERS + 40) - 20,
          orNull(random, random.nextInt(40)),
          orNull(random, BigDecimal.valueOf(random.nextInt(10_000), 2)),
          orNull(random, "note " + random.nextInt(9)));
    }
  }

  private static Object orNull(Random random, Object value) {
    return random.nextInt(6) == 0 ? null : value;
  }

  /** What Ignite answers for the whole cluster. */
  private static List<List<Object>> query(String text) {
    return ignite
        .cache("schema")
        .query(new SqlFieldsQuery(text).setSchema("PUBLIC").setEnforceJoinOrder(true))
        .getAll()
        .stream()
        .map(ArrayList<Object>::new)
        .collect(Collectors.toList());
  }

  private static List<List<?>> local(String text, int[] partitions) {
    return ignite
        .cache("schema")
        .query(
            new SqlFieldsQuery(text).setSchema("PUBLIC").setLocal(true).setPartitions(partitions))
        .getAll();
  }
}
