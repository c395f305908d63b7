package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/** What the columns of a cache are, and that their values arrive as they were put. */
public class ItColumns extends DataTest {
  @Test
  public void columnsComeInTheOrderAskedForWithTheKeyFirst() throws Exception {
    fillObjects(create(new CacheConfiguration<>("projected"), 8, 0), "Projected", 3);

    ReadCommand command =
        command("projected").addColumns("label").addColumns("name").setKey(true).build();

    List<String> names =
        cluster.schema(command).getFields().stream()
            .map(field -> field.getName())
            .collect(Collectors.toList());
    assertEquals(Arrays.asList("_key", "label", "name"), names);
    assertTrue(cluster.readAll(command).contains(Arrays.<Object>asList(2, 2, "row 2")));
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
          Collections.singletonList(Arrays.asList(name, value.getValue())),
          cluster.readAll(command(name).setKey(true).build()));
      assertEquals("value", cluster.schema(command(name).build()).getFields().get(0).getName());
    }
    create(new CacheConfiguration<>("bytes"), 4, 0).put(1L, new byte[] {0, -1, 127, -128});
    assertEquals(
        Collections.singletonList(Arrays.asList(1L, "[0, -1, 127, -128]")),
        cluster.readAll(command("bytes").setKey(true).build()));
  }

  @Test
  public void everyFieldTypeArrivesAsItWasPut() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("types"), 4, 0);
    BinaryObjectBuilder builder = ignite.binary().builder("AllTypes");
    Map<String, Object> expected = new LinkedHashMap<>();
    builder.setField("byte", Byte.MIN_VALUE);
    expected.put("byte", Byte.MIN_VALUE);
    builder.setField("short", Short.MIN_VALUE);
    expected.put("short", Short.MIN_VALUE);
    builder.setField("int", -1);
    expected.put("int", -1);
    builder.setField("long", Long.MIN_VALUE);
    expected.put("long", Long.MIN_VALUE);
    builder.setField("float", 1.5f);
    expected.put("float", 1.5f);
    builder.setField("double", Double.NaN);
    expected.put("double", Double.NaN);
    builder.setField("boolean", true);
    expected.put("boolean", true);
    builder.setField("char", '\uFFFF');
    expected.put("char", '\uFFFF');
    builder.setField("string", "");
    expected.put("string", "");
    builder.setField("bytes", new byte[] {-1});
    expected.put("bytes", "[-1]");
    builder.setField("shorts", new short[] {1, -2});
    expected.put("shorts", Arrays.asList((short) 1, (short) -2));
    builder.setField("ints", new int[0]);
    expected.put("ints", Collections.emptyList());
    builder.setField("longs", new long[] {Long.MAX_VALUE});
    expected.put("longs", Collections.singletonList(Long.MAX_VALUE));
    builder.setField("floats", new float[] {0.5f, -0f});
    expected.put("floats", Arrays.asList(0.5f, -0f));
    builder.setField("doubles", new double[] {Double.MAX_VALUE});
    expected.put("doubles", Collections.singletonList(Double.MAX_VALUE));
    builder.setField("booleans", new boolean[] {true, false, true});
    expected.put("booleans", Arrays.asList(true, false, true));
    builder.setField("chars", new char[] {'a', '\u00e9'});
    expected.put("chars", Arrays.asList('a', '\u00e9'));
    builder.setField("strings", new String[] {"", "\u00e9"});
    expected.put("strings", Arrays.asList("", "\u00e9"));
    cache.put(1, builder.build());

    ReadCommand command = command("types").addAllColumns(expected.keySet()).build();

    assertEquals(
        Collections.singletonList(new ArrayList<>(expected.values())), cluster.readAll(command));
    assertEquals(
        new HashSet<>(expected.keySet()),
        cluster.schema(command("types").build()).getFields().stream()
            .map(field -> field.getName())
            .collect(Collectors.toSet()));
  }

  @Test
  public void aQueryEntityTellsTheColumnsOfAnEmptyCache() throws Exception {
    QueryEntity entity = new QueryEntity("java.lang.Long", "Person");
    entity.addQueryField("id", "java.lang.Long", null);
    entity.addQueryField("age", "java.lang.Integer", null);
    entity.setKeyFieldName("id");
    CacheConfiguration<Object, Object> configuration = new CacheConfiguration<>("people");
    IgniteCache<Object, Object> cache =
        create(configuration.setQueryEntities(Collections.singletonList(entity)), 8, 0);

    ReadCommand command = command("people").setKey(true).build();
    assertEquals(Collections.emptyList(), cluster.readAll(command));

    cache.put(
        7L, ignite.binary().builder("Person").setField("age", 40).setField("hidden", "h").build());
    assertEquals(
        Collections.singletonList(Arrays.<Object>asList(7L, 7L, 40)), cluster.readAll(command));
    assertEquals(
        Collections.singletonList(Collections.<Object>singletonList("h")),
        cluster.readAll(command("people").addColumns("hidden").build()));
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
        Collections.singletonList(Arrays.<Object>asList(1, "x", 5L)),
        cluster.readAll(command("city").addColumns("A").addColumns("B").addColumns("POP").build()));
  }

  @Test
  public void objectsOfSeveralTypesAreReadByFieldName() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("mixed"), 1, 0);
    for (int i = 0; i < 10; i++) {
      cache.put(
          i,
          ignite
              .binary()
              .builder("Mixed" + i % 2)
              .setField("pad" + i % 2, i)
              .setField("n", i)
              .build());
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
