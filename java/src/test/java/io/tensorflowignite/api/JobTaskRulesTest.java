package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Prediction;
import io.tensorflowignite.v1.RoleEnvironment;
import java.util.List;
import org.junit.Test;

public class JobTaskRulesTest {
  @Test
  public void variablesThatEachTaskGetsFromItsNodeAreRejected() {
    for (String name :
        List.of("TF_CONFIG", "TF_CLUSTER", "TENSORFLOW_IGNITE_CONTEXT", "IGNITE_DATASET_PART")) {
      rejected(spec().putEnv(name, ""), name);
      rejected(
          spec().addRoleEnv(RoleEnvironment.newBuilder().setRole("worker").putEnv(name, "")), name);
    }
  }

  @Test
  public void settingsOfProgramsAreAccepted() {
    JobTaskRules.check(
        spec()
            .putEnv("TF_CPP_MIN_LOG_LEVEL", "0")
            .putEnv("IGNITE_DATASET_USERNAME", "u")
            .putEnv("TENSORFLOW_IGNITE_DEBUG", "1")
            .build());
  }

  @Test
  public void onlyAJobOfKindPredictWritesResultsAndItNamesTheirCache() {
    Prediction into = Prediction.newBuilder().setOutputCache("results").build();
    JobTaskRules.check(spec().setKind(JobKind.JOB_KIND_PREDICT).setPrediction(into).build());
    assertTrue(message(spec().setPrediction(into)).contains("submit with kind predict"));
    assertTrue(message(spec().setKind(JobKind.JOB_KIND_PREDICT)).contains("Set output_cache"));
  }

  private static String message(JobSpec.Builder spec) {
    return assertThrows(TensorFlowIgniteException.class, () -> JobTaskRules.check(spec.build()))
        .getMessage();
  }

  private static JobSpec.Builder spec() {
    return JobSpec.newBuilder().setKind(JobKind.JOB_KIND_ONE);
  }

  private static void rejected(JobSpec.Builder spec, String name) {
    TensorFlowIgniteException rejected =
        assertThrows(TensorFlowIgniteException.class, () -> JobTaskRules.check(spec.build()));
    assertEquals(ERROR_CODE_INVALID_REQUEST, rejected.code());
    assertTrue(rejected.getMessage(), rejected.getMessage().contains("The job sets " + name));
  }
}
