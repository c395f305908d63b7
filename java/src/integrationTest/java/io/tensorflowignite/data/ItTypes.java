package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;

import com.google.protobuf.ByteString;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.ReadCommand;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/**
 * Columns of Java's objects, of query entities and of SQL tables. Every type with values at its
 * limits is in tests/integration/test_types.py.
 */
public class ItTypes extends DataTest {
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
    final UUID id = new UUID(Long.MIN_VALUE, 1);
    final Color color = Color.GREEN;
    final Address home = new Address("Zürich", new int[] {8000, 8001}, null);
    final List<Address> others =
        new ArrayList<>(Arrays.asList(home, new Address("Paris", new int[0], null)));
    final Map<String, Integer> scores = new LinkedHashMap<>(Map.of("a", 1));
    final Object[] numbers = {1L, Long.MAX_VALUE};
    final BigDecimal price = new BigDecimal("-1E+3");
  }

  @Test
  public void objectsInsideOfObjectsAreStructsListsAndMaps() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("people"), 4, 0);
    cache.put(1, new Person());
    ReadCommand command =
        command("people")
            .setNulls(Nulls.NULLS_KEEP)
            .addAllColumns(List.of("id", "color", "scores", "numbers", "price"))
            .build();

    assertEquals(
        "[[80000000-0000-0000-0000-000000000001, 1, [{\"key\":\"a\",\"value\":1}],"
            + " [1, 9223372036854775807], -1000]]",
        cluster.readAll(command).toString());
    assertEquals(
        "{tensorflow-ignite.enum=[\"RED\", \"GREEN\"], tensorflow-ignite.type=enum}",
        new TreeMap<>(cluster.schema(command).findField("color").getMetadata()).toString());

    Field city = field("city", ArrowType.Utf8.INSTANCE);
    Schema requested =
        new Schema(
            List.of(
                field("home", ArrowType.Struct.INSTANCE, city),
                field(
                    "others",
                    ArrowType.List.INSTANCE,
                    field("item", ArrowType.Struct.INSTANCE, city))));
    assertEquals(
        "[[{\"city\":\"Zürich\"}, [{\"city\":\"Zürich\"}, {\"city\":\"Paris\"}]]]",
        cluster
            .readAll(
                command("people")
                    .addColumns("home")
                    .addColumns("others")
                    .setSchema(ByteString.copyFrom(requested.serializeAsMessage()))
                    .build())
            .toString());
  }

  @Test
  public void compositeKeysAndPathsAreRead() throws Exception {
    QueryEntity entity = new QueryEntity("PlaceKey", "Place");
    entity.addQueryField("country", "java.lang.String", null);
    entity.addQueryField("address.city", "java.lang.String", null);
    entity.setKeyFields(Set.of("country"));
    IgniteCache<Object, Object> cache =
        create(new CacheConfiguration<>("places").setQueryEntities(List.of(entity)), 4, 0);
    cache.put(
        object("PlaceKey", "country", "ch"),
        object("Place", "address", object("Addr", "city", "Bern")));

    assertEquals(
        "[[{\"country\":\"ch\"}, ch, Bern]]",
        cluster.readAll(command("places").setKey(true).build()).toString());

    sql(
        "CREATE TABLE CITY (A INT, B VARCHAR, POP BIGINT, PRIMARY KEY (A, B)) WITH"
            + " \"CACHE_NAME=city\"");
    sql("INSERT INTO CITY (A, B, POP) VALUES (1, 'x', 5)");
    assertEquals(
        List.of(List.of("x", 5L, 1)),
        cluster.readAll(command("city").addColumns("B").addColumns("POP").addColumns("A").build()));
  }

  @Test
  public void aQueryEntityGivesTheColumnsOfAnEmptyCache() throws Exception {
    QueryEntity entity = new QueryEntity("java.lang.Long", "Person");
    entity.addQueryField("id", "java.lang.Long", null);
    entity.addQueryField("age", "java.lang.Integer", null);
    entity.setKeyFieldName("id");
    IgniteCache<Object, Object> cache =
        create(new CacheConfiguration<>("people").setQueryEntities(List.of(entity)), 8, 0);

    ReadCommand command = command("people").setKey(true).build();
    assertEquals(List.of(), cluster.readAll(command));

    cache.put(7L, object("Person", "age", 40, "hidden", "h"));
    assertEquals(List.of(List.of(7L, 7L, 40)), cluster.readAll(command));
    assertEquals(
        List.of(List.of("h")), cluster.readAll(command("people").addColumns("hidden").build()));
  }

  private static Field field(String name, ArrowType type, Field... children) {
    return new Field(name, FieldType.notNullable(type), Arrays.asList(children));
  }
}
