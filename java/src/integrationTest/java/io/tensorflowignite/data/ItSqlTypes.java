package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.Parameter;
import io.tensorflowignite.v1.ReadCommand;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.QueryIndex;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/** Conditions over columns of SQL's further types, and over partitions that move. */
public class ItSqlTypes extends DataTest {
  private static final Instant INSTANT = Instant.parse("2020-02-29T22:30:00.123456Z");
  private static final UUID ID = UUID.fromString("00000000-0000-0000-0000-00000000002a");

  @Test
  public void textsCanBeComparedWithColumnsOfEveryTypeOfSql() throws Exception {
    LinkedHashMap<String, String> fields = new LinkedHashMap<>();
    fields.put("n", Integer.class.getName());
    fields.put("id", UUID.class.getName());
    fields.put("price", BigDecimal.class.getName());
    fields.put("day", Date.class.getName());
    fields.put("hour", Time.class.getName());
    fields.put("at", Timestamp.class.getName());
    fields.put("moment", java.util.Date.class.getName());
    QueryEntity entity =
        new QueryEntity(Integer.class.getName(), "Typed")
            .setFields(fields)
            .setIndexes(List.of(new QueryIndex("price")));
    IgniteCache<Object, Object> cache =
        create(new CacheConfiguration<>("typed").setQueryEntities(List.of(entity)), 8, 0);
    cache.put(1, row(1, ID, "0.10", "2020-02-29", "23:59:58", INSTANT));
    cache.put(2, row(2, new UUID(1, 2), "0.11", "2020-03-01", "00:00:00", INSTANT.plusMillis(1)));

    assertEquals(
        List.of(Arrays.<Object>asList(ID.toString(), ID.toString())),
        cluster.readAll(
            command("typed").setSql("SELECT id, id AS again FROM Typed WHERE n = 1").build()));
    assertEquals(
        List.of(Arrays.<Object>asList(ID.toString(), ID.toString())),
        cluster.readAll(
            command("typed")
                .setSql(
                    "SELECT CAST(CAST(id AS VARCHAR) AS UUID) AS made, CASE WHEN n = 1 THEN id END"
                        + " AS chosen FROM Typed WHERE n = 1")
                .build()));
    assertEquals(
        List.of(Arrays.<Object>asList(1, ID.toString())),
        cluster.readAll(
            command("typed")
                .setSql(
                    "SELECT _KEY AS number, MIN(id) AS least FROM Typed WHERE n = 1 GROUP BY _KEY")
                .build()));
    assertEquals(
        List.of(Arrays.<Object>asList(1, 1.5)),
        cluster.readAll(
            command("typed")
                .setSql("SELECT ROUND(n) AS whole, n * ? AS product FROM Typed WHERE n = 1")
                .addParameters(Parameter.newBuilder().setDoubleValue(1.5))
                .build()));
    assertFinds("price = ?", Parameter.newBuilder().setDoubleValue(0.1).build());
    assertFinds("price < ?", Parameter.newBuilder().setDoubleValue(0.105).build());
    assertFinds("price = -?", Parameter.newBuilder().setDoubleValue(-0.1).build());
    assertFinds("n + ? < 2", Parameter.newBuilder().setDoubleValue(0.5).build());
    assertFinds(
        "n IN (?, ?)",
        Parameter.newBuilder().setDoubleValue(1.0).build(),
        Parameter.newBuilder().setDoubleValue(1.7).build());
    assertFinds("n = 0.7 OR n = 1.7 OR n = 1");
    assertFinds("price * 10 = ?", Parameter.newBuilder().setIntValue(1).build());
    assertFinds("price < ? AND n = 1", Parameter.newBuilder().setIntValue(1).build());
    assertFinds("id = ?", ID.toString());
    assertFinds("price = ?", "0.10");
    assertFinds("price < ?", "0.105");
    assertFinds("day = ?", "2020-02-29");
    assertFinds("day < DATE '2020-03-01'");
    assertFinds("hour = ?", "23:59:58");
    assertFinds("at = ?", "2020-02-29 22:30:00.123456+00:00");
    assertFinds("at = ?", "2020-03-01 00:30:00.123456+02:00");
    assertFinds("at = ?", Timestamp.from(INSTANT).toString());
    assertFinds("moment < ?", "2020-02-29 22:30:00.124+00:00");
    assertFinds("CAST(id AS VARCHAR) = ? AND EXTRACT(YEAR FROM day) = 2020", ID.toString());
    assertFinds("TRIM(LEADING '0' FROM CAST(price AS VARCHAR)) = ?", ".10");
    assertFinds("CASE WHEN n IS NOT DISTINCT FROM ? THEN TRUE ELSE FALSE END", "1");
    assertFinds("(n, CAST(id AS VARCHAR)) IN ((1, ?), (3, 'x'))", ID.toString());
    assertFinds("NOT (n > 1) AND -n = -1 AND n % 2 = 1 AND ? || 'b' = 'ab'", "a");
  }

  @Test
  public void aPartitionThatMovesWhileItsRowsAreSelectedIsAnError() throws Exception {
    IgniteCache<Object, Object> cache =
        create(
            new CacheConfiguration<>("moving").setIndexedTypes(Integer.class, byte[].class),
            256,
            0);
    for (int i = 0; i < 96; i++) {
      cache.put(i, new byte[1 << 20]);
    }
    ReadCommand command = command("moving").setWhere("_key >= 0").setBatchBytes(1 << 20).build();
    FlightEndpoint endpoint = cluster.info(command).getEndpoints().get(0);
    List<Integer> partitions = partitions(endpoint);
    long expected =
        IntStream.range(0, 96)
            .filter(i -> partitions.contains(ignite.affinity("moving").partition(i)))
            .count();
    long[] rows = new long[1];
    try (FlightStream stream = cluster.stream(endpoint)) {
      assertTrue(stream.next());
      rows[0] += stream.getRoot().getRowCount();
      moveSomeOf("moving", partitions);

      assertFails(
          FlightStatusCode.UNAVAILABLE,
          "of cache moving is not primary on node",
          "[code=PARTITION_NOT_LOCAL]",
          () -> {
            while (stream.next()) {
              rows[0] += stream.getRoot().getRowCount();
            }
          });
      // The last batch is not sent after the move. All batches before it are, also with rows of the
      // moved partition.
      assertTrue(rows[0] + " of " + expected, rows[0] >= expected - 1);
    } finally {
      cluster.stopLastNode();
    }
  }

  private static void assertFinds(String where, String parameter) throws Exception {
    assertFinds(where, Parameter.newBuilder().setStringValue(parameter).build());
  }

  private static void assertFinds(String where, Parameter... parameters) throws Exception {
    ReadCommand.Builder command =
        command("typed").addColumns("n").setWhere(where).addAllParameters(List.of(parameters));
    assertEquals(where, 1, cluster.info(command.build()).getRecords());
    assertEquals(where, List.of(Arrays.<Object>asList(1)), cluster.readAll(command.build()));
  }

  private static Object row(
      int n, UUID id, String price, String day, String hour, Instant instant) {
    return ignite
        .binary()
        .builder("Typed")
        .setField("n", n)
        .setField("id", id)
        .setField("price", new BigDecimal(price))
        .setField("day", Date.valueOf(day))
        .setField("hour", Time.valueOf(hour))
        .setField("at", Timestamp.from(instant))
        .setField("moment", java.util.Date.from(instant), java.util.Date.class)
        .build();
  }
}
