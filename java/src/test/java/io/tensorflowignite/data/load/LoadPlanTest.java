package io.tensorflowignite.data.load;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadCommand;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.Test;

public class LoadPlanTest {
  private static final Field ID = Field.nullable("id", ArrowType.Utf8.INSTANCE);
  private static final Field N = Field.nullable("n", new ArrowType.Int(32, true));
  private static final Field X =
      Field.nullable("x", new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE));

  @Test
  public void keysAreCountedLongsUnlessAColumnIsNamed() {
    LoadPlan plan = LoadPlan.of(command("c").build(), new Schema(Arrays.asList(ID, N)));

    assertEquals(Long.class, plan.key().storage());
    assertEquals(Arrays.asList("_key", "id", "n"), names(plan.schema().getFields()));
  }

  @Test
  public void theKeyColumnIsNotStoredAmongTheValues() {
    LoadPlan plan =
        LoadPlan.of(command("c").setKeyColumn("id").build(), new Schema(Arrays.asList(ID, N)));

    assertEquals(String.class, plan.key().storage());
    assertEquals(Collections.singletonList("n"), names(plan.fields()));
    assertEquals(Arrays.asList("_key", "n"), names(plan.schema().getFields()));
  }

  @Test
  public void withAnAffinityColumnKeysAreObjectsWhoseFieldsStayColumns() {
    LoadPlan plan =
        LoadPlan.of(
            command("c").setKeyColumn("id").setAffinityColumn("n").build(),
            new Schema(Arrays.asList(X, N, ID)));

    assertTrue(plan.key().isObject());
    assertEquals(Arrays.asList("id", "n"), names(plan.key().fields()));
    assertEquals(Collections.singletonList("x"), names(plan.fields()));
    assertEquals(Arrays.asList("id", "n", "x"), names(plan.schema().getFields()));
    List<Boolean> inKey =
        plan.schema().getFields().stream().map(CacheSchema::isInKey).collect(Collectors.toList());
    assertEquals(Arrays.asList(true, true, false), inKey);
  }

  @Test
  public void whatCannotBeLoadedIsToldWithItsReason() {
    assertRefused(ErrorCode.INVALID_REQUEST, "no cache is named", command(""), N);
    assertRefused(
        ErrorCode.INVALID_REQUEST, "kept for this system", command("tensorflow-ignite-x"), N);
    assertRefused(ErrorCode.INVALID_REQUEST, "-1 backups", command("c").setBackups(-1), N);
    assertRefused(
        ErrorCode.INVALID_REQUEST, "70000 partitions", command("c").setPartitions(70_000), N);
    assertRefused(ErrorCode.INVALID_REQUEST, "no column besides", command("c"));
    assertRefused(
        ErrorCode.INVALID_REQUEST,
        "two columns n and N",
        command("c"),
        N,
        Field.nullable("N", N.getType()));
    assertRefused(
        ErrorCode.INVALID_REQUEST,
        "named \"_key\"",
        command("c"),
        Field.nullable("_key", N.getType()));
    assertRefused(
        ErrorCode.COLUMN_NOT_FOUND, "no column id to take", command("c").setKeyColumn("id"), N);
    assertRefused(
        ErrorCode.UNSUPPORTED_TYPE, "column x is of type", command("c").setKeyColumn("x"), X, N);
    assertRefused(
        ErrorCode.INVALID_REQUEST, "affinity column n", command("c").setAffinityColumn("n"), X, N);
    assertRefused(
        ErrorCode.INVALID_REQUEST,
        "affinity column n and key column \"n\"",
        command("c").setKeyColumn("n").setAffinityColumn("n"),
        X,
        N);
    assertRefused(
        ErrorCode.COLUMN_NOT_FOUND,
        "no column z to take their affinity from",
        command("c").setKeyColumn("n").setAffinityColumn("z"),
        X,
        N);
    assertRefused(
        ErrorCode.UNSUPPORTED_TYPE,
        "column d is of type",
        command("c"),
        Field.nullable("d", new ArrowType.Int(64, false)));
  }

  private static void assertRefused(
      ErrorCode code, String text, LoadCommand.Builder command, Field... fields) {
    TensorFlowIgniteException error =
        assertThrows(
            TensorFlowIgniteException.class,
            () -> LoadPlan.of(command.build(), new Schema(Arrays.asList(fields))));
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
