package io.tensorflowignite.api;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

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
      String text = "The job sets " + name;
      rejected(spec().putEnv(name, ""), text);
      rejected(
          spec().addRoleEnv(RoleEnvironment.newBuilder().setRole("worker").putEnv(name, "")), text);
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
    rejected(spec().setPrediction(into), "submit with kind predict");
    rejected(spec().setKind(JobKind.JOB_KIND_PREDICT), "Set output_cache");
  }

  private static JobSpec.Builder spec() {
    return JobSpec.newBuilder().setKind(JobKind.JOB_KIND_ONE);
  }

  private static void rejected(JobSpec.Builder spec, String text) {
    assertRefused(ERROR_CODE_INVALID_REQUEST, () -> JobTaskRules.check(spec.build()), text);
  }
}
