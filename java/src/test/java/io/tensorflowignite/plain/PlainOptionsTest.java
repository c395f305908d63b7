package io.tensorflowignite.plain;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.OnJoin;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class PlainOptionsTest {
  @Test
  public void optionsHaveTheNamesOfJobFilesWithPointsOrInMaps() {
    JobSpec.Builder points =
        PlainOptions.read(
            Map.of(
                "cache", "images",
                "args", List.of("--epochs", 3),
                "strategy.kind", "parameter-server",
                "workers.per_node", 2,
                "environment.variables.SEED", "7",
                "restart.on_join", "at-checkpoint",
                "timeouts.stall", "10m",
                "rounds.replay", 0.5,
                "access.allow_plaintext", "true"));
    JobSpec.Builder maps =
        PlainOptions.read(
            Map.of(
                "cache", "images",
                "args", new Object[] {"--epochs", "3"},
                "strategy", Map.of("kind", "parameter-server"),
                "workers", Map.of("per_node", "2"),
                "environment", Map.of("variables", Map.of("SEED", 7)),
                "restart", Map.of("on_join", "at-checkpoint"),
                "timeouts", Map.of("stall", 600),
                "rounds", Map.of("replay", "0.5"),
                "access", Map.of("allow_plaintext", true)));
    assertEquals(points.build(), maps.build());
    assertEquals(List.of("--epochs", "3"), points.getArgsList());
    assertEquals(JobKind.JOB_KIND_PARAMETER_SERVER, points.getStrategy().getKind());
    assertEquals(Map.of("SEED", "7"), points.getEnvironment().getVariablesMap());
    assertEquals(OnJoin.ON_JOIN_AT_CHECKPOINT, points.getRestart().getOnJoin());
    assertEquals(Durations.fromMinutes(10), points.getTimeouts().getStall());
  }

  @Test
  public void aJobHasTheDefaultKindAndOnlyTheGroupsThatAreGiven() {
    JobSpec.Builder none = PlainOptions.read(Collections.singletonMap("evaluator", null));
    assertEquals(JobKind.JOB_KIND_MULTI_WORKER_MIRRORED, none.getStrategy().getKind());
    assertFalse(none.hasEvaluator());
    assertTrue(PlainOptions.read(Map.of("evaluator", Map.of())).hasEvaluator());
    assertEquals(
        JobKind.JOB_KIND_ONE, PlainOptions.read(Map.of("strategy", "one")).getStrategy().getKind());
  }

  @Test
  public void aWrongNameOrTypeIsRefusedByTheNameOfTheOption() {
    refuse("workers.pernode is no option of a job. Options are name, cache,", "workers.pernode", 2);
    refuse("code_digest is no option", "code_digest", "0");
    refuse("prediction is no option", "prediction", Map.of());
    refuse("workers.per_node.x is no option", "workers.per_node.x", 2);
    refuse("cache.x is no option", "cache.x", 2);
    refuse("workers is 2, of the class Integer. It is a group", "workers", 2);
    refuse("workers.per_node is 2.5, of the class Double. It is a whole", "workers.per_node", 2.5);
    refuse("priority is 99999999999, of the class Long", "priority", 99_999_999_999L);
    refuse("timeouts.stall is soon, of the class String", "timeouts.stall", "soon");
    refuse("timeouts.stall is NaN", "timeouts.stall", Double.NaN);
    refuse(
        "restart.quorum 'all' does not exist. It is one of majority, none",
        "restart.quorum",
        "all");
    refuse("args is --x, of the class String. It is a list", "args", "--x");
    refuse(
        "access.caches is true, of the class Boolean. It is a text",
        "access.caches",
        List.of(true));
    refuse("access.allow_plaintext is 1, of", "access.allow_plaintext", 1);
    refuse("workers.nodes is a, of the class String. It is a mapping", "workers.nodes", "a");
    Map<String, Object> twice = new LinkedHashMap<>();
    twice.put("workers.per_node", 1);
    twice.put("workers", Map.of("per_node", 2));
    refuse("workers.per_node is given twice", twice);
  }

  @Test
  public void noErrorShowsAVariable() {
    String error = refuse("is a value of the class", "environment.variables.KEY", List.of("hush"));
    assertFalse(error, error.contains("hush"));
  }

  private static String refuse(String text, String name, Object value) {
    return refuse(text, Map.of(name, value));
  }

  private static String refuse(String text, Map<String, ?> options) {
    return assertRefused(ERROR_CODE_INVALID_REQUEST, () -> PlainOptions.read(options), text);
  }
}
