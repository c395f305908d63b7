package io.tensorflowignite.data.load;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadCommand;
import java.util.Arrays;
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
  public void keysAreCountedLongsUnlessAColumnIsNamed() {
    LoadPlan plan = new LoadPlan(command("c").build(), new Schema(List.of(ID, N)));

    assertEquals(Long.class, plan.key().storage());
    assertEquals(List.of("_key", "id", "n"), names(plan.schema().getFields()));
  }

  @Test
  public void theKeyColumnIsNotStoredAmongTheValues() {
    LoadPlan plan =
        new LoadPlan(command("c").setKeyColumn("id").build(), new Schema(List.of(ID, N)));

    assertEquals(String.class, plan.key().storage());
    assertEquals(List.of("n"), names(plan.fields()));
    assertEquals(List.of("_key", "n"), names(plan.schema().getFields()));
  }

  @Test
  public void withAnAffinityColumnKeysAreObjectsWhoseFieldsStayColumns() {
    LoadPlan plan =
        new LoadPlan(
            command("c").setKeyColumn("id").setAffinityColumn("n").build(),
            new Schema(List.of(X, N, ID)));

    assertTrue(plan.key().isObject());
    assertEquals(List.of("id", "n"), names(plan.key().fields()));
    assertEquals(List.of("x"), names(plan.fields()));
    assertEquals(List.of("id", "n", "x"), names(plan.schema().getFields()));
    List<Boolean> inKey =
        plan.schema().getFields().stream().map(CacheSchema::isInKey).collect(Collectors.toList());
    assertEquals(List.of(true, true, false), inKey);
  }

  @Test
  public void besideAnotherCacheKeysComeAsTheyWereRead() {
    Field object =
        new Field("_key", FieldType.notNullable(ArrowType.Struct.INSTANCE), List.of(ID, N));
    LoadPlan plan =
        new LoadPlan(
            command("c").setLike("rows").setKeyColumn("_key").build(),
            new Schema(List.of(object, X)));

    assertTrue(plan.key().isObject());
    assertEquals(List.of("id", "n"), names(plan.key().fields()));
    assertEquals(List.of("x"), names(plan.fields()));
    assertEquals(List.of("id", "n", "x"), names(plan.schema().getFields()));
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        "two columns n and n",
        command("c").setLike("rows").setKeyColumn("_key"),
        object,
        N);
    assertRefused(
        ERROR_CODE_INVALID_REQUEST, "set key_column to _key", command("c").setLike("rows"), N);
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        "like to another cache",
        command("c").setLike("c").setKeyColumn("_key"),
        object,
        X);
    assertRefused(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "_key",
        command("c").setLike("rows").setKeyColumn("_key"),
        new Field("_key", FieldType.notNullable(ArrowType.Struct.INSTANCE), List.of(X)),
        N);
  }

  @Test
  public void invalidLoadsAreRefusedWithTheReason() {
    assertRefused(ERROR_CODE_INVALID_REQUEST, "the command names no cache", command(""), N);
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        "reserved for system caches",
        command("tensorflow-ignite-x"),
        N);
    assertRefused(ERROR_CODE_INVALID_REQUEST, "-1 backups", command("c").setBackups(-1), N);
    assertRefused(
        ERROR_CODE_INVALID_REQUEST, "70000 partitions", command("c").setPartitions(70_000), N);
    assertRefused(ERROR_CODE_INVALID_REQUEST, "no column besides", command("c"));
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        "two columns n and N",
        command("c"),
        N,
        Field.nullable("N", N.getType()));
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        "named \"_key\"",
        command("c"),
        Field.nullable("_key", N.getType()));
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        "named \"_KEY\"",
        command("c"),
        Field.nullable("_KEY", N.getType()));
    assertRefused(
        ERROR_CODE_COLUMN_NOT_FOUND,
        "no column id for their keys",
        command("c").setKeyColumn("id"),
        N);
    assertRefused(
        ERROR_CODE_UNSUPPORTED_TYPE, "column x is of type", command("c").setKeyColumn("x"), X, N);
    assertRefused(
        ERROR_CODE_INVALID_REQUEST, "affinity column n", command("c").setAffinityColumn("n"), X, N);
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
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

  private static void assertRefused(
      ErrorCode code, String text, LoadCommand.Builder command, Field... fields) {
    TensorFlowIgniteException error =
        assertThrows(
            TensorFlowIgniteException.class,
            () -> new LoadPlan(command.build(), new Schema(Arrays.asList(fields))));
    assertEquals(error.getMessage(), code, error.code());
    assertTrue(error.getMessage(), error.getMessage().contains(text));
  }

  private static LoadCommand.Builder command(String cache) {
    return LoadCommand.newBuilder().setCache(cache);
  }

  private static List<String> names(List<Field> fields) {
    return fields.stream().map(Field::getName).collect(Collectors.toList());
  }
}
