package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.tensorflowignite.Await;
import io.tensorflowignite.v1.Parameter;
import io.tensorflowignite.v1.ReadCommand;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/** A condition or a SELECT gives each row that it selects once, from its owner. */
public class ItSql extends DataTest {
  private static final int ROWS = 600;

  /** Partitions that a command names. */
  private static final List<Integer> NAMED = List.of(3, 1, 12);

  @Test
  public void aConditionSelectsRowsOnceOverTheirOwners() throws Exception {
    for (int backups = 0; backups < 2; backups++) {
      String name = "filtered" + backups;
      fill(create(filtered(name), 64, backups));
      ReadCommand.Builder command = command(name).setWhere("label < 3").setKey(true);

      FlightInfo info = cluster.info(command.build());

      assertEquals(3, info.getEndpoints().size());
      assertSelects(i -> i % 10 < 3, command);
      assertEquals(
          List.of("_key", "pixels", "label", "name", "price"),
          names(info.getSchemaOptional().get()));
      assertEquals(-1, cluster.info(command.setUncounted(true).build()).getRecords());
    }
    assertEquals(-1, cluster.info(command("filtered0").setUncounted(true).build()).getRecords());
  }

  @Test
  public void aConditionOverAReplicatedCacheGivesEachRowByItsPrimaryOnly() throws Exception {
    fill(create(filtered("everywhere").setCacheMode(CacheMode.REPLICATED), 32, 0));
    ReadCommand.Builder command = command("everywhere").setWhere("label = 4").setKey(true);
    IntPredicate named = i -> i % 10 == 4 && NAMED.contains(partition("everywhere", i));

    assertSelects(i -> i % 10 == 4, command);
    assertSelects(named, command.addAllPartitions(NAMED));
    assertSelects(
        named,
        command("everywhere")
            .setSql("SELECT _key, price AS p FROM Filtered WHERE label = ?")
            .addParameters(value().setIntValue(4))
            .addAllPartitions(NAMED));
  }

  @Test
  public void onlyNamedPartitionsAreCountedAndReadAlsoByParallelQueries() throws Exception {
    for (int parallelism : new int[] {1, 3}) {
      String name = "some" + parallelism;
      fill(create(filtered(name).setQueryParallelism(parallelism), 16, 1));
      assertSelects(
          i -> i % 10 != 0 && NAMED.contains(partition(name, i)),
          command(name).setWhere("label <> 0").addAllPartitions(NAMED).setKey(true));
    }
  }

  @Test(timeout = 60_000)
  public void aRangeOfKeysMayBeAsWideAsItsTypeHoweverFewThePartitions() throws Exception {
    fill(create(filtered("few"), 2, 0));
    String all = String.valueOf(Long.MAX_VALUE);
    for (String where :
        List.of("_key BETWEEN 590 AND " + all, "_key >= ROUND(590, 2) AND _key < " + all)) {
      assertSelects(i -> i >= 590, command("few").setWhere(where).setKey(true));
    }
    for (String where : List.of("_key BETWEEN 0 AND -30", "_key IN (1) AND _key IN (2)", "1 = 0")) {
      assertSelects(i -> false, command("few").setWhere(where).setKey(true));
    }
  }

  @Test
  public void aCacheIsFoundByTheNameOfItsTable() throws Exception {
    fill(create(filtered("named"), 8, 0));
    sql("CREATE TABLE Person (id INT PRIMARY KEY, name VARCHAR)");
    sql("INSERT INTO Person VALUES (7, 'Ada')");
    for (String name : List.of("PERSON", "person", "PUBLIC.PERSON", "SQL_PUBLIC_PERSON")) {
      ReadCommand person = command(name).addColumns("NAME").build();
      assertEquals(List.of(List.of("Ada")), cluster.readAll(person));
    }
    assertEquals(ROWS, cluster.info(command("filtered").build()).getRecords());

    create(filtered("second"), 8, 0);

    assertEquals(ROWS, cluster.info(command("named.FILTERED").build()).getRecords());
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST,
        "FILTERED is the name of several SQL tables: named.FILTERED of cache named, second.FILTERED"
            + " of cache second",
        () -> cluster.info(command("FILTERED").build()));
  }

  @Test
  public void aSelectChoosesItsColumnsInItsOrderAndUsesAnIndex() throws Exception {
    fill(create(filtered("chosen"), 16, 0));
    sql("CREATE INDEX prices ON \"chosen\".FILTERED (price)");
    ReadCommand.Builder command =
        command("chosen")
            .setSql(
                "SELECT _key AS id, price * 2 AS twice, name, label + 1 AS \"next label\", pixels"
                    + " FROM Filtered f WHERE f.price >= 250 AND name LIKE 'row %'");

    assertEquals(
        Arrays.asList(
            "id: Int(32, true) not null",
            "twice: FloatingPoint(DOUBLE) not null",
            "name: Utf8 not null",
            "next label: Int(32, true) not null",
            "pixels: Binary not null"),
        cluster.schema(command.build()).getFields().stream()
            .map(Field::toString)
            .collect(Collectors.toList()));
    for (List<Object> row : assertSelects(i -> i * 0.5 >= 250, command)) {
      int key = (Integer) row.get(0);
      assertEquals(List.of(key, key * 1.0, "row " + key, key % 10 + 1, pixels(key)), row);
    }
    ReadCommand star = command("chosen").setSql("SELECT * FROM FILTERED WHERE label = 1").build();
    assertEquals(List.of("pixels", "label", "name", "price"), names(cluster.schema(star)));
    assertEquals(60, cluster.readAll(star).size());
    Schema another = new Schema(List.of(Field.nullable("TWICE", ArrowType.Utf8.INSTANCE)));
    assertFails(
        FlightStatusCode.NOT_FOUND,
        "the SELECT over cache chosen has no column TWICE, whose type schema= gives",
        "[code=COLUMN_NOT_FOUND]",
        () ->
            cluster.info(
                command.setSchema(ByteString.copyFrom(another.serializeAsMessage())).build()));
  }

  @Test
  public void columnsOfATableMadeBySqlKeepTheirTypes() throws Exception {
    sql(
        "CREATE TABLE Typed (id INT PRIMARY KEY, flag BOOLEAN, tiny TINYINT, small SMALLINT, wide"
            + " BIGINT, single REAL, twin DOUBLE, text VARCHAR, raw BINARY) WITH"
            + " \"cache_name=typed,affinity_key=id\"");
    sql(
        "INSERT INTO Typed VALUES (7, TRUE, -128, -32768, -9223372036854775808, 0.5, -0.25, 'ä',"
            + " X'00ff')");
    ReadCommand all =
        command("typed")
            .setSql("SELECT flag, tiny, small, id, wide, single, twin, text, raw FROM Typed")
            .build();
    assertEquals(
        "[[true, -128, -32768, 7, -9223372036854775808, 0.5, -0.25, ä, [0, -1]]]",
        cluster.readAll(all).toString());
    assertEquals(
        List.of("flag", "tiny", "small", "id", "wide", "single", "twin", "text", "raw"),
        names(cluster.schema(all)));
    ReadCommand some =
        command("typed").addColumns("TEXT").setWhere("raw = X'00FF' AND wide < 0").build();
    assertEquals(List.of(List.of("ä")), cluster.readAll(some));
  }

  @Test
  public void parametersOfEveryKindAreBoundAndNeverReadAsSql() throws Exception {
    fill(create(filtered("bound"), 16, 0));

    assertBound("label = ?", i -> i % 10 == 3, value().setIntValue(3));
    assertBound("price < ?", i -> i < 21, value().setDoubleValue(10.5));
    assertBound("name = ?", i -> i == 77, value().setStringValue("row 77"));
    assertBound("? AND label = 1", i -> i % 10 == 1, value().setBoolValue(true));
    assertBound("? AND label = 1", i -> false, value().setBoolValue(false));
    assertBound(
        "pixels = ?",
        i -> i % 256 == 7,
        value().setBytesValue(ByteString.copyFrom(new byte[] {7, 7})));
    assertBound("name = ?", i -> false, value());
    assertBound("CAST(? AS INT) IS NULL AND label = 2", i -> i % 10 == 2, value());
    assertBound(
        "label IN (?, ?)", i -> i % 10 < 2, value().setIntValue(0), value().setStringValue("1"));
    for (String text :
        new String[] {
          "' OR 1=1 --", "x' OR '1'='1", "?", "\"", "1); DROP TABLE \"bound\".FILTERED; --"
        }) {
      assertBound("name = ?", i -> false, value().setStringValue(text));
      assertBound("name <> ?", i -> true, value().setStringValue(text));
    }
  }

  @Test
  public void nullsAreNoValueOfAComparison() throws Exception {
    IgniteCache<Object, Object> cache = create(filtered("holes"), 8, 0);
    fill(cache);
    cache.put(ROWS, object("Filtered", "label", 1, "price", 1.0));

    ReadCommand.Builder command = command("holes").setKey(true).addColumns("label");
    assertEquals(
        List.of(List.of(ROWS, 1)), cluster.readAll(command.setWhere("name IS NULL").build()));
    assertSelects(i -> i < ROWS, command.setWhere("name LIKE 'row%'"));
    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "cache holes, key " + ROWS + ": column name is null",
        () -> cluster.readAll(command("holes").setSql("SELECT name FROM FILTERED").build()));
  }

  @Test
  public void aConditionCanUseAFieldInsideANestedObject() throws Exception {
    LinkedHashMap<String, String> fields = new LinkedHashMap<>();
    fields.put("id", Integer.class.getName());
    fields.put("address.city", String.class.getName());
    QueryEntity entity = new QueryEntity(Integer.class.getName(), "Person").setFields(fields);
    IgniteCache<Object, Object> cache =
        create(new CacheConfiguration<>("people").setQueryEntities(List.of(entity)), 8, 0);
    for (int i = 0; i < 40; i++) {
      BinaryObject address = object("Address", "city", i % 4 == 0 ? "Oslo" : "Rome");
      cache.put(i, object("Person", "id", i, "address", address));
    }

    ReadCommand oslo = command("people").addColumns("id").setWhere("city = 'Oslo'").build();
    assertEquals(10, cluster.readAll(oslo).size());
  }

  @Test
  public void valuesThatAreNoObjectsCanBeFiltered() throws Exception {
    IgniteCache<Object, Object> cache =
        create(
            new CacheConfiguration<>("numbers").setIndexedTypes(Integer.class, Double.class), 8, 1);
    for (int i = 0; i < 100; i++) {
      cache.put(i, i * 0.5);
    }

    assertSelects(
        i -> i >= 50 && i < 100 && i != 60,
        command("numbers").setKey(true).setWhere("_val >= 25 AND _key <> 60"));
  }

  @Test
  public void keysAndValuesThatSqlTurnsIntoOtherClassesComeAsTheyAreStored() throws Exception {
    IgniteCache<Object, Object> moments =
        create(new CacheConfiguration<>("moments").setIndexedTypes(Date.class, Date.class), 8, 0);
    IgniteCache<Object, Object> letters =
        create(
            new CacheConfiguration<>("letters").setIndexedTypes(Character.class, Character.class),
            8,
            0);
    List<List<Object>> cases = new ArrayList<>();
    for (char letter = 'a'; letter < 'k'; letter++) {
      moments.put(new Date(letter), new Date(-letter));
      letters.put(letter, Character.toUpperCase(letter));
      cases.add(List.of(letter, Character.toUpperCase(letter)));
    }

    assertEquals(
        List.of(List.of((long) 'c', (long) -'c')),
        cluster.readAll(
            command("moments")
                .setKey(true)
                .setWhere("_val = ?")
                .addParameters(value().setStringValue(new Timestamp(-'c').toString()))
                .build()));
    // SQL has no type for a char, and compares it with nothing.
    List<List<Object>> found =
        cluster.readAll(command("letters").setKey(true).setWhere("_val IS NOT NULL").build());
    assertEquals(cases.size(), found.size());
    assertEquals(new HashSet<>(cases), new HashSet<>(found));
  }

  @Test
  public void aStreamThatIsCancelledEndsItsQuery() throws Exception {
    IgniteCache<Object, Object> cache =
        create(
            new CacheConfiguration<>("large").setIndexedTypes(Integer.class, byte[].class), 32, 0);
    for (int i = 0; i < 96; i++) {
      cache.put(i, new byte[1 << 20]);
    }
    ReadCommand command = command("large").setWhere("_key >= 0").setBatchBytes(1 << 20).build();
    FlightEndpoint endpoint = cluster.info(command).getEndpoints().get(0);
    try (FlightStream stream = cluster.stream(endpoint)) {
      assertTrue(stream.next());
      assertFalse(runningQueries().isEmpty());
      stream.cancel("enough", null);
    }
    Await.until("the query ends", () -> runningQueries().isEmpty());
    cluster.awaitIdle();
  }

  @Test
  public void aPartitionOfAnotherNodeIsRefusedOrNamedToAReaderThatFollowsIt() throws Exception {
    fill(create(filtered("owned"), 16, 1));
    ReadCommand command = command("owned").setWhere("label = 1").build();
    FlightEndpoint first = cluster.info(command).getEndpoints().get(0);
    FlightEndpoint second = cluster.info(command).getEndpoints().get(1);

    assertFails(
        FlightStatusCode.UNAVAILABLE,
        "of cache owned is not primary on node",
        "[code=PARTITION_NOT_LOCAL]",
        () -> DataCluster.read(cluster.client(first.getLocations().get(0)), second.getTicket()));
    assertPartitionsOfAnotherNodeAreNamed(command);
  }

  @Test
  public void errorsOfIgnitesSqlKeepTheirMessage() {
    fill(create(filtered("wrong"), 8, 0));
    create(new CacheConfiguration<>("plain"), 4, 0).put(1, 1);

    assertInvalid("Column \"NOPE\" not found", command("wrong").setWhere("nope = 1"));
    assertInvalid(
        "nope(label) is refused: the function is not allowed",
        command("wrong").setWhere("nope(label) = 1"));
    assertInvalid("Data conversion error", command("wrong").setWhere("label = 'x'"));
    assertInvalid(
        "Data conversion error",
        command("wrong").setWhere("label = ?").addParameters(value().setStringValue("x")));
    assertInvalid("1 question marks, but 0 parameters", command("wrong").setWhere("label = ?"));
    assertInvalid("is not visible to SQL", command("plain").setWhere("_val = 1"));
    assertInvalid(
        "has the clause LIMIT", command("wrong").setSql("SELECT * FROM Filtered LIMIT 1"));
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST,
        "both where and sql",
        () -> cluster.info(command("wrong").setSql("a").setWhere("b").build()));
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST,
        "a SELECT names its columns",
        () -> cluster.info(command("wrong").setSql("a").setKey(true).build()));
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST,
        "parameters but neither where nor sql",
        () -> cluster.info(command("wrong").addParameters(value()).build()));
  }

  private static void assertInvalid(String text, ReadCommand.Builder command) {
    assertInvalid(ERROR_CODE_SQL_INVALID, text, () -> cluster.info(command.build()));
  }

  private static void assertBound(
      String where, IntPredicate expected, Parameter.Builder... parameters) throws Exception {
    ReadCommand.Builder command = command("bound").setWhere(where).setKey(true);
    for (Parameter.Builder parameter : parameters) {
      command.addParameters(parameter);
    }
    assertSelects(expected, command);
  }

  /** The queries of all nodes: the system view of a node lists only its own ones. */
  private static List<List<?>> runningQueries() {
    SqlFieldsQuery running =
        new SqlFieldsQuery("SELECT SQL FROM SYS.SQL_QUERIES WHERE SQL LIKE '%_VAL%'");
    return IntStream.range(0, 3)
        .boxed()
        .flatMap(node -> cluster.node(node).cache("large").query(running).getAll().stream())
        .filter(row -> !row.get(0).toString().contains("SQL_QUERIES"))
        .collect(Collectors.toList());
  }

  private static Parameter.Builder value() {
    return Parameter.newBuilder();
  }

  private static CacheConfiguration<Object, Object> filtered(String name) {
    LinkedHashMap<String, String> fields = new LinkedHashMap<>();
    fields.put("pixels", byte[].class.getName());
    fields.put("label", Integer.class.getName());
    fields.put("name", String.class.getName());
    fields.put("price", Double.class.getName());
    QueryEntity entity = new QueryEntity(Integer.class.getName(), "Filtered").setFields(fields);
    return new CacheConfiguration<>(name).setQueryEntities(List.of(entity));
  }

  private static void fill(IgniteCache<Object, Object> cache) {
    for (int i = 0; i < ROWS; i++) {
      byte[] pixels = {(byte) i, (byte) i};
      Object label = i % 10;
      cache.put(
          i,
          object(
              "Filtered", "pixels", pixels, "label", label, "name", "row " + i, "price", i * 0.5));
    }
  }

  private static String pixels(int key) {
    return Arrays.toString(new byte[] {(byte) key, (byte) key});
  }

  private static int partition(String cache, int key) {
    return ignite.affinity(cache).partition(key);
  }

  /** Counts and reads the rows, which have their keys first, and returns them. */
  private static List<List<Object>> assertSelects(IntPredicate keys, ReadCommand.Builder command)
      throws Exception {
    Set<Object> expected =
        IntStream.range(0, ROWS).filter(keys).boxed().collect(Collectors.toSet());
    List<List<Object>> rows = cluster.readAll(command.build());
    String text = command.toString();
    assertEquals(text, expected.size(), cluster.info(command.build()).getRecords());
    assertEquals(text, expected.size(), rows.size());
    assertEquals(text, expected, rows.stream().map(row -> row.get(0)).collect(Collectors.toSet()));
    return rows;
  }
}
