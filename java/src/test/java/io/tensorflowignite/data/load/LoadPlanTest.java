package io.tensorflowignite.data.load;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.Refusals;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadCommand;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.Test;

public class LoadPlanTest {
  private static final Field ID = Field.nullable("id", ArrowType.Utf8.INSTANCE);
  private static final Field N = Field.nullable("n", new ArrowType.Int(32, true));
  private static final Field X =
      Field.nullable("x", new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE));

  @Test
  public void keysAreCountedLongsOrAColumnThatIsNotStoredAmongTheValues() {
    LoadPlan counted = new LoadPlan(command("c").build(), new Schema(List.of(ID, N)));
    assertEquals(Long.class, counted.key.storage());
    assertColumns(counted, List.of("id", "n"), List.of("_key", "id", "n"));

    LoadPlan named =
        new LoadPlan(command("c").setKeyColumn("id").build(), new Schema(List.of(ID, N)));
    assertEquals(String.class, named.key.storage());
    assertColumns(named, List.of("n"), List.of("_key", "n"));
  }

  private static void assertColumns(LoadPlan plan, List<String> stored, List<String> all) {
    assertEquals(stored, names(plan.fields));
    assertEquals(all, names(plan.schema().getFields()));
  }

  @Test
  public void withAnAffinityColumnKeysAreObjectsWhoseFieldsStayColumns() {
    LoadPlan plan =
        new LoadPlan(
            command("c").setKeyColumn("id").setAffinityColumn("n").build(),
            new Schema(List.of(X, N, ID)));

    assertTrue(plan.key.isObject());
    assertEquals(List.of("id", "n"), names(plan.key.fields()));
    assertColumns(plan, List.of("x"), List.of("id", "n", "x"));
    List<Boolean> inKey =
        plan.schema().getFields().stream().map(CacheSchema::isInKey).collect(Collectors.toList());
    assertEquals(List.of(true, true, false), inKey);
  }

  @Test
  public void besideAnotherCacheKeysComeAsTheyWereRead() {
    Field object = key(ID, N);
    LoadPlan plan =
        new LoadPlan(
            command("c").setLike("rows").setKeyColumn("_key").build(),
            new Schema(List.of(object, X)));

    assertTrue(plan.key.isObject());
    assertEquals(List.of("id", "n"), names(plan.key.fields()));
    assertColumns(plan, List.of("x"), List.of("id", "n", "x"));
    assertInvalid(
        "two columns n and n", command("c").setLike("rows").setKeyColumn("_key"), object, N);
    assertInvalid("set key_column to _key", command("c").setLike("rows"), N);
    assertInvalid(
        "like to another cache", command("c").setLike("c").setKeyColumn("_key"), object, X);
    assertRefused(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "_key",
        command("c").setLike("rows").setKeyColumn("_key"),
        key(X),
        N);
  }

  @Test
  public void invalidLoadsAreRefusedWithTheReason() {
    assertInvalid("the command names no cache", command(""), N);
    assertInvalid("reserved for system caches", command("tensorflow-ignite-x"), N);
    for (String name : List.of("a/b", "a\\b", "a\"b", "a\nb", "x".repeat(201))) {
      assertInvalid("cannot be the name of a loaded cache", command(name), N);
    }
    assertInvalid("-1 backups", command("c").setBackups(-1), N);
    assertInvalid("70000 partitions", command("c").setPartitions(70_000), N);
    assertInvalid("no column besides", command("c"));
    assertInvalid("two columns n and N", command("c"), N, named("N"));
    assertInvalid("named \"_key\"", command("c"), named("_key"));
    assertInvalid("named \"_KEY\"", command("c"), named("_KEY"));
    assertRefused(
        ERROR_CODE_COLUMN_NOT_FOUND,
        "no column id for their keys",
        command("c").setKeyColumn("id"),
        N);
    assertRefused(
        ERROR_CODE_UNSUPPORTED_TYPE, "column x is of type", command("c").setKeyColumn("x"), X, N);
    assertInvalid("affinity column n", command("c").setAffinityColumn("n"), X, N);
    assertInvalid(
        "affinity column n and key column \"n\"",
        command("c").setKeyColumn("n").setAffinityColumn("n"),
        X,
        N);
    assertRefused(
        ERROR_CODE_COLUMN_NOT_FOUND,
        "no column z for their affinity",
        command("c").setKeyColumn("n").setAffinityColumn("z"),
        X,
        N);
    assertRefused(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "column d is of type",
        command("c"),
        Field.nullable("d", new ArrowType.Int(64, false)));
  }

  @Test
  public void fieldsThatIgniteDoesNotDistinguishAreRefusedAtEveryDepth() {
    for (List<String> two : List.of(List.of("n", "N"), List.of("to", "v1"))) {
      Field[] fields = {named(two.get(0)), named(two.get(1))};
      Field struct = new Field("p", FieldType.nullable(ArrowType.Struct.INSTANCE), List.of(fields));
      Field list = new Field("l", FieldType.nullable(ArrowType.List.INSTANCE), List.of(struct));
      Field twice = new Field("q", struct.getFieldType(), List.of(list));
      for (Field field : List.of(struct, list, twice)) {
        assertInvalid(
            "the fields \"" + two.get(0) + "\" and \"" + two.get(1) + "\"", command("c"), field);
      }
    }
    assertInvalid(
        "its rows have the fields \"to\" and \"v1\"", command("c"), named("to"), named("v1"));
    // Keys and values are two objects.
    assertEquals(
        List.of("v1"),
        names(
            new LoadPlan(
                    command("c").setKeyColumn("to").build(),
                    new Schema(List.of(named("to"), named("v1"))))
                .fields));
  }

  private static void assertInvalid(String text, LoadCommand.Builder command, Field... fields) {
    assertRefused(ERROR_CODE_INVALID_REQUEST, text, command, fields);
  }

  private static void assertRefused(
      ErrorCode code, String text, LoadCommand.Builder command, Field... fields) {
    Refusals.assertRefused(
        code, () -> new LoadPlan(command.build(), new Schema(List.of(fields))), text);
  }

  private static Field key(Field... fields) {
    return new Field("_key", FieldType.notNullable(ArrowType.Struct.INSTANCE), List.of(fields));
  }

  private static Field named(String name) {
    return Field.nullable(name, N.getType());
  }

  private static LoadCommand.Builder command(String cache) {
    return LoadCommand.newBuilder().setCache(cache);
  }

  private static List<String> names(List<Field> fields) {
    return fields.stream().map(Field::getName).collect(Collectors.toList());
  }
}
