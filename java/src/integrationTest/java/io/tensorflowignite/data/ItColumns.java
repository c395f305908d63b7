package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/** The columns of a cache, and that their values arrive unchanged. */
public class ItColumns extends DataTest {
  @Test
  public void columnsArriveInTheRequestedOrderWithTheKeyFirst() throws Exception {
    fillObjects(create(new CacheConfiguration<>("projected"), 8, 0), "Projected", 3);

    ReadCommand command =
        command("projected").addColumns("label").addColumns("name").setKey(true).build();

    List<String> names = names(cluster.schema(command));
    assertEquals(List.of("_key", "label", "name"), names);
    assertTrue(cluster.readAll(command).contains(List.of(2, 2, "row 2")));
  }

  @Test
  public void primitiveValuesBecomeTheColumnValue() throws Exception {
    Map<Object, Object> values = new LinkedHashMap<>();
    values.put("ints", Integer.MIN_VALUE);
    values.put("longs", Long.MAX_VALUE);
    values.put("doubles", Double.MIN_VALUE);
    values.put("booleans", true);
    values.put("strings", "größer als 日本 \uD83D\uDE00");
    for (Map.Entry<Object, Object> value : values.entrySet()) {
      String name = value.getKey().toString();
      create(new CacheConfiguration<>(name), 4, 0).put(name, value.getValue());

      assertEquals(
          List.of(List.of(name, value.getValue())),
          cluster.readAll(command(name).setKey(true).build()));
      assertEquals("value", cluster.schema(command(name).build()).getFields().get(0).getName());
    }
    create(new CacheConfiguration<>("bytes"), 4, 0).put(1L, new byte[] {0, -1, 127, -128});
    assertEquals(
        List.of(List.of(1L, "[0, -1, 127, -128]")),
        cluster.readAll(command("bytes").setKey(true).build()));
  }

  @Test
  public void everyFieldTypeArrivesAsItWasPut() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("types"), 4, 0);
    // Name, value, and the value that arrives if it is another class.
    Object[][] fields = {
      {"byte", Byte.MIN_VALUE},
      {"short", Short.MIN_VALUE},
      {"int", -1},
      {"long", Long.MIN_VALUE},
      {"float", 1.5f},
      {"double", Double.NaN},
      {"boolean", true},
      {"char", '\uFFFF'},
      {"string", ""},
      {"bytes", new byte[] {-1}, "[-1]"},
      {"shorts", new short[] {1, -2}, List.of((short) 1, (short) -2)},
      {"ints", new int[0], List.of()},
      {"longs", new long[] {Long.MAX_VALUE}, List.of(Long.MAX_VALUE)},
      {"floats", new float[] {0.5f, -0f}, List.of(0.5f, -0f)},
      {"doubles", new double[] {Double.MAX_VALUE}, List.of(Double.MAX_VALUE)},
      {"booleans", new boolean[] {true, false, true}, List.of(true, false, true)},
      {"chars", new char[] {'a', '\u00e9'}, List.of('a', '\u00e9')},
      {"strings", new String[] {"", "\u00e9"}, List.of("", "\u00e9")},
    };
    BinaryObjectBuilder builder = ignite.binary().builder("AllTypes");
    Map<String, Object> expected = new LinkedHashMap<>();
    for (Object[] field : fields) {
      builder.setField((String) field[0], field[1]);
      expected.put((String) field[0], field[field.length - 1]);
    }
    cache.put(1, builder.build());

    ReadCommand command = command("types").addAllColumns(expected.keySet()).build();

    assertEquals(List.of(new ArrayList<>(expected.values())), cluster.readAll(command));
    assertEquals(expected.keySet(), Set.copyOf(names(cluster.schema(command("types").build()))));
  }

  @Test
  public void aQueryEntityGivesTheColumnsOfAnEmptyCache() throws Exception {
    QueryEntity entity = new QueryEntity("java.lang.Long", "Person");
    entity.addQueryField("id", "java.lang.Long", null);
    entity.addQueryField("age", "java.lang.Integer", null);
    entity.setKeyFieldName("id");
    CacheConfiguration<Object, Object> configuration = new CacheConfiguration<>("people");
    IgniteCache<Object, Object> cache =
        create(configuration.setQueryEntities(List.of(entity)), 8, 0);

    ReadCommand command = command("people").setKey(true).build();
    assertEquals(List.of(), cluster.readAll(command));

    cache.put(7L, object("Person", "age", 40, "hidden", "h"));
    assertEquals(List.of(List.of(7L, 7L, 40)), cluster.readAll(command));
    assertEquals(
        List.of(List.of("h")), cluster.readAll(command("people").addColumns("hidden").build()));
  }

  @Test
  public void aSqlTableIsReadByItsColumns() throws Exception {
    IgniteCache<Object, Object> any = create(new CacheConfiguration<>("any"), 8, 0);
    sql(
        any,
        "CREATE TABLE CITY (A INT, B VARCHAR, POP BIGINT, PRIMARY KEY (A, B)) WITH"
            + " \"CACHE_NAME=city\"");
    sql(any, "INSERT INTO CITY (A, B, POP) VALUES (1, 'x', 5)");

    assertEquals(
        List.of(List.of(1, "x", 5L)),
        cluster.readAll(command("city").addColumns("A").addColumns("B").addColumns("POP").build()));
  }

  @Test
  public void objectsOfSeveralTypesAreReadByFieldName() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("mixed"), 1, 0);
    for (int i = 0; i < 10; i++) {
      cache.put(i, object("Mixed" + i % 2, "pad" + i % 2, i, "n", i));
    }

    List<List<Object>> rows =
        cluster.readAll(command("mixed").setKey(true).addColumns("n").build());

    assertEquals(10, rows.size());
    rows.forEach(row -> assertEquals(row.get(0), row.get(1)));
  }

  private static void sql(IgniteCache<Object, Object> cache, String text) {
    cache.query(new SqlFieldsQuery(text).setSchema("PUBLIC")).getAll();
  }
}
