package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.tensorflowignite.v1.Mismatch;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.ReadCommand;
import java.math.BigDecimal;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.UUID;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/** Every type of the table, with values at its limits, as key, value and field. */
public class ItTypes extends DataTest {
  private static final UUID ID = new UUID(Long.MIN_VALUE, 1);
  private static final Date DATE = new Date(-62_135_596_800_000L);
  private static final String NINES = "9".repeat(60);

  enum Color {
    RED,
    GREEN
  }

  static final class Address {
    final String city;
    final int[] codes;
    final Address next;

    Address(String city, int[] codes, Address next) {
      this.city = city;
      this.codes = codes;
      this.next = next;
    }
  }

  static final class Person {
    final UUID id = ID;
    final Color color = Color.GREEN;
    final Address home = new Address("Zürich", new int[] {8000, 8001}, null);
    final List<Address> others =
        new ArrayList<>(Arrays.asList(home, new Address("Paris", new int[0], null)));
    final Map<String, Integer> scores = new LinkedHashMap<>(Map.of("a", 1));
    final Object[] numbers = {1L, Long.MAX_VALUE};
    final BigDecimal price = new BigDecimal("-1E+3");
  }

  private static Map<Object, Object> edges() {
    Timestamp nanos = new Timestamp(1000);
    nanos.setNanos(999_999_999);
    Map<Object, Object> edges = new LinkedHashMap<>();
    edges.put(Byte.MIN_VALUE, Byte.MIN_VALUE);
    edges.put(Short.MAX_VALUE, Short.MAX_VALUE);
    edges.put(Integer.MIN_VALUE, Integer.MIN_VALUE);
    edges.put(Long.MAX_VALUE, Long.MAX_VALUE);
    edges.put(Float.NaN, Float.NaN);
    edges.put(-0d, -0d);
    edges.put(true, true);
    edges.put('\uFFFF', '\uFFFF');
    edges.put("\uD83D\uDE00", "\uD83D\uDE00");
    edges.put(ID, ID.toString());
    edges.put(DATE, DATE.getTime());
    edges.put(nanos, 1_999_999_999L);
    edges.put(
        new BigDecimal(NINES).scaleByPowerOfTen(-30),
        NINES.substring(30) + "." + NINES.substring(30));
    edges.put(new BigDecimal("1E+3"), "1000");
    edges.put(Color.GREEN, 1);
    return edges;
  }

  @Test
  public void everyTypeIsReadAsKeyValueAndField() throws Exception {
    int number = 0;
    for (Map.Entry<Object, Object> edge : edges().entrySet()) {
      String name = "edge" + number++;
      IgniteCache<Object, Object> plain = create(new CacheConfiguration<>(name), 4, 0);
      plain.put(edge.getKey(), edge.getKey());
      IgniteCache<Object, Object> objects = create(new CacheConfiguration<>(name + "o"), 4, 0);
      objects.put(1, object(name, "v", edge.getKey()));

      assertEquals(
          edge.getKey() + "",
          List.of(List.of(edge.getValue(), edge.getValue())),
          cluster.readAll(command(name).setKey(true).build()));
      assertEquals(
          edge.getKey() + "",
          List.of(List.of(edge.getValue())),
          cluster.readAll(command(name + "o").build()));
    }
  }

  @Test
  public void timesAndDatesAreThoseOfTheNodesClock() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("times"), 4, 0);
    TimeZone before = TimeZone.getDefault();
    try {
      TimeZone.setDefault(TimeZone.getTimeZone("Asia/Kolkata"));
      java.sql.Date day = java.sql.Date.valueOf("2024-02-29");
      cache.put(1, object("Times", "t", Time.valueOf("23:59:59"), "d", day));
      List<Object> row =
          cluster.readAll(command("times").addColumns("t").addColumns("d").build()).get(0);
      assertTrue(row.get(0).toString(), row.get(0).toString().endsWith("T23:59:59"));
      assertEquals((int) java.time.LocalDate.of(2024, 2, 29).toEpochDay(), row.get(1));
    } finally {
      TimeZone.setDefault(before);
    }
  }

  @Test
  public void objectsInsideOfObjectsAreStructsListsAndMaps() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("people"), 4, 0);
    cache.put(1, new Person());
    ReadCommand.Builder command = command("people").setNulls(Nulls.NULLS_KEEP);
    for (String column : new String[] {"id", "color", "scores", "numbers", "price"}) {
      command.addColumns(column);
    }

    assertEquals(
        "[[80000000-0000-0000-0000-000000000001, 1, [{\"key\":\"a\",\"value\":1}],"
            + " [1, 9223372036854775807], -1000]]",
        cluster.readAll(command.build()).toString());
    assertEquals(
        "{tensorflow-ignite.enum=[\"RED\", \"GREEN\"], tensorflow-ignite.type=enum}",
        new java.util.TreeMap<>(cluster.schema(command.build()).findField("color").getMetadata())
            .toString());

    Schema requested =
        new Schema(
            List.of(
                struct("home", field("city", ArrowType.Utf8.INSTANCE)),
                list("others", struct("item", field("city", ArrowType.Utf8.INSTANCE)))));
    assertEquals(
        "[[{\"city\":\"Zürich\"}, [{\"city\":\"Zürich\"}, {\"city\":\"Paris\"}]]]",
        cluster
            .readAll(
                command("people")
                    .addColumns("home")
                    .addColumns("others")
                    .setSchema(bytes(requested))
                    .build())
            .toString());
  }

  @Test
  public void compositeKeysAndPathsAreRead() throws Exception {
    QueryEntity entity = new QueryEntity("PlaceKey", "Place");
    entity.addQueryField("country", "java.lang.String", null);
    entity.addQueryField("address.city", "java.lang.String", null);
    entity.setKeyFields(Collections.singleton("country"));
    IgniteCache<Object, Object> cache =
        create(new CacheConfiguration<>("places").setQueryEntities(List.of(entity)), 4, 0);
    cache.put(
        object("PlaceKey", "country", "ch"),
        object("Place", "address", object("Addr", "city", "Bern")));

    assertEquals(
        "[[{\"country\":\"ch\"}, ch, Bern]]",
        cluster.readAll(command("places").setKey(true).build()).toString());
  }

  @Test
  public void decimalsOfSqlHaveTheirScale() throws Exception {
    IgniteCache<Object, Object> any = create(new CacheConfiguration<>("any"), 4, 0);
    any.query(
            new SqlFieldsQuery(
                    "CREATE TABLE PRICES (ID INT PRIMARY KEY, P DECIMAL(10, 2), D DATE, T"
                        + " TIMESTAMP) WITH \"CACHE_NAME=prices\"")
                .setSchema("PUBLIC"))
        .getAll();
    any.query(
            new SqlFieldsQuery("INSERT INTO PRICES VALUES (1, 12.5, ?, ?)")
                .setArgs(java.sql.Date.valueOf("2024-02-29"), new Timestamp(5))
                .setSchema("PUBLIC"))
        .getAll();

    assertEquals(
        "[[12.50, 19782, 5000000]]",
        cluster
            .readAll(command("prices").addColumns("P").addColumns("D").addColumns("T").build())
            .toString());
  }

  @Test
  public void nullsAreKeptFilledOrRefused() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("holes"), 1, 0);
    cache.put(1, object("Holes", "n", 1, "s", "x"));
    cache.put(2, object("Holes", "s", "y"));
    ReadCommand.Builder command = command("holes").addColumns("n").addColumns("s");

    assertEquals(
        "[[1, x], [null, y]]",
        cluster.readAll(command.setNulls(Nulls.NULLS_KEEP).build()).toString());
    assertEquals(
        "[[1, x], [0, y]]",
        cluster.readAll(command.setNulls(Nulls.NULLS_DEFAULT).build()).toString());
    command.setNulls(Nulls.NULLS_ERROR);
    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "cache holes, key 2: column n is null;",
        () -> cluster.readAll(command.build()));
    assertEquals(
        "[[1, x]]",
        cluster.readAll(command.setOnMismatch(Mismatch.MISMATCH_SKIP).build(), 1).toString());
  }

  @Test
  public void fieldsThatCameLaterAreNullBefore() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("grown"), 1, 0);
    cache.put(1, object("Old", "a", 1));
    cache.put(2, object("Old", "a", 2, "b", "b"));
    cache.put(3, object("New", "b", "c", "a", 3));

    List<List<Object>> rows =
        cluster.readAll(
            command("grown").addColumns("a").addColumns("b").setNulls(Nulls.NULLS_KEEP).build());

    assertEquals(
        new HashSet<>(Arrays.asList(Arrays.asList(1, null), List.of(2, "b"), List.of(3, "c"))),
        new HashSet<>(rows));
  }

  @Test
  public void columnsAreReadWithTheRequestedTypes() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("requested"), 4, 0);
    byte[] pixels = {0, 1, -1, 127};
    List<Integer> ids = new ArrayList<>(List.of(1, 2));
    cache.put(1, object("Requested", "pixels", pixels, "label", 7, "ids", ids));
    Field uint8 = field("item", new ArrowType.Int(8, false));
    Schema requested =
        new Schema(
            List.of(
                fixed("pixels", 2, fixed("item", 2, uint8)),
                field("label", new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE)),
                list("ids", field("item", new ArrowType.Int(64, true)))));
    ReadCommand command =
        command("requested")
            .addColumns("pixels")
            .addColumns("label")
            .addColumns("ids")
            .setSchema(bytes(requested))
            .build();

    assertEquals(requested, cluster.schema(command));
    assertEquals("[[[[0, 1], [-1, 127]], 7.0, [1, 2]]]", cluster.readAll(command).toString());
    Schema refused = new Schema(List.of(field("pixels", new ArrowType.Int(32, true))));
    assertInvalid(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache requested: column pixels is of type byte[] (Binary) and cannot be read as Int(32,"
            + " true)",
        () -> cluster.info(command("requested").setSchema(bytes(refused)).build()));
  }

  @Test
  public void anEmptyCacheIsReadWithASchema() throws Exception {
    create(new CacheConfiguration<>("empty"), 4, 0);
    Schema requested = new Schema(List.of(field("x", new ArrowType.Int(32, true))));
    ReadCommand command = command("empty").setSchema(bytes(requested)).build();

    assertEquals(requested, cluster.schema(command));
    assertEquals(List.of(), cluster.readAll(command));
  }

  private static ByteString bytes(Schema schema) {
    return ByteString.copyFrom(schema.serializeAsMessage());
  }

  private static Field field(String name, ArrowType type) {
    return new Field(name, FieldType.notNullable(type), null);
  }

  private static Field struct(String name, Field... children) {
    return new Field(
        name, FieldType.notNullable(ArrowType.Struct.INSTANCE), Arrays.asList(children));
  }

  private static Field list(String name, Field child) {
    return new Field(name, FieldType.notNullable(ArrowType.List.INSTANCE), List.of(child));
  }

  private static Field fixed(String name, int size, Field child) {
    return ArrowRows.fixed(name, size, child);
  }
}
