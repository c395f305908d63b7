package io.tensorflowignite.api;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.Environment;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Prediction;
import io.tensorflowignite.v1.Rounds;
import io.tensorflowignite.v1.Strategy;
import java.util.List;
import org.junit.Test;

public class JobTaskRulesTest {
  @Test
  public void variablesThatEachTaskGetsFromItsNodeAreRejected() {
    for (String name :
        List.of("TF_CONFIG", "TF_CLUSTER", "TENSORFLOW_IGNITE_CONTEXT", "IGNITE_DATASET_PART")) {
      String text = "environment.variables has " + name;
      rejected(variable(name), text);
      rejected(variable("worker:" + name), text);
    }
  }

  @Test
  public void settingsOfProgramsAreAccepted() {
    for (String name :
        List.of(
            "TF_CPP_MIN_LOG_LEVEL", "IGNITE_DATASET_USERNAME", "worker:TENSORFLOW_IGNITE_DEBUG")) {
      JobTaskRules.check(variable(name).build());
    }
  }

  @Test
  public void variablesOfARoleThatTheJobHasNotAreRejected() {
    rejected(variable("ps:SEED"), "A job of kind one has here: worker");
    rejected(variable(":SEED"), "A job of kind one has here: worker");
  }

  @Test
  public void onlyAJobOfKindPredictWritesResultsAndItNamesTheirCache() {
    Prediction into = Prediction.newBuilder().setOutputCache("results").build();
    JobTaskRules.check(spec(JobKind.JOB_KIND_PREDICT).setPrediction(into).build());
    rejected(
        spec(JobKind.JOB_KIND_ONE).setPrediction(into), "prediction is set for a job of kind one");
    rejected(spec(JobKind.JOB_KIND_PREDICT), "Set prediction.output_cache");
  }

  @Test
  public void anOptionThatItsKindHasNotIsRejectedByItsName() {
    JobSpec.Builder spec = spec(JobKind.JOB_KIND_MIRRORED);
    spec.getStrategyBuilder().setServers(2);
    rejected(
        spec,
        "strategy.servers is set for a job of kind mirrored. Only jobs of kind parameter-server");
    spec = spec(JobKind.JOB_KIND_PARAMETER_SERVER).setRounds(Rounds.getDefaultInstance());
    rejected(spec, "rounds is set for a job of kind parameter-server");
    spec = spec(JobKind.JOB_KIND_ONE);
    spec.getWorkersBuilder().setPerNode(2);
    rejected(spec, "workers.per_node is 2");
  }

  @Test
  public void aValueOutsideOfTheRangeBesideItsFieldIsRejectedByItsName() {
    JobSpec.Builder spec = spec(JobKind.JOB_KIND_MULTI_WORKER_MIRRORED);
    spec.getWorkersBuilder().setPerNode(65);
    rejected(spec, "workers.per_node is 65. It is a number from 1 to 64.");
    spec.getWorkersBuilder().setPerNode(-1);
    rejected(spec, "workers.per_node is -1.");
    spec.clearWorkers().getTimeoutsBuilder().setStart(Durations.ZERO);
    rejected(spec, "timeouts.start is 0 s. It is a number from 0.001 to 31,536,000.");
    spec.getTimeoutsBuilder().setStart(Durations.fromDays(366));
    rejected(spec, "timeouts.start is 31,622,400 s.");
    spec.clearTimeouts().getRestartBuilder().setMaxCrashes(-1);
    rejected(spec, "restart.max_crashes is -1. It is a number from 0 to 2,147,483,647.");
    spec.clearRestart().setPriority(-101);
    rejected(spec, "priority is -101. It is a number from -100 to 100.");
    spec.clearPriority().getRoundsBuilder().setReplay(Double.NaN);
    rejected(spec, "rounds.replay is NaN.");
    spec.getRoundsBuilder().clear().setWhenRows(-1);
    rejected(spec, "rounds.when_rows is -1.");
    spec.clearRounds().getRestartBuilder().setOnJoinValue(77);
    rejected(spec, "restart.on_join is 77, which this version does not know.");
    spec = spec(JobKind.JOB_KIND_CUSTOM);
    spec.getStrategyBuilder().putRoles("actor", 0);
    rejected(spec, "strategy.roles.actor is 0. It is a number from 1 to 100.");
    spec.getStrategyBuilder().putRoles("actor", 60).putRoles("learner", 60);
    rejected(spec, "strategy.roles are 120 tasks");
    spec.getStrategyBuilder().clearRoles().putRoles("ps", 1);
    rejected(spec, "strategy.roles has a role 'ps'");
  }

  private static JobSpec.Builder spec(JobKind kind) {
    return JobSpec.newBuilder().setStrategy(Strategy.newBuilder().setKind(kind));
  }

  private static JobSpec.Builder variable(String name) {
    return spec(JobKind.JOB_KIND_ONE)
        .setEnvironment(Environment.newBuilder().putVariables(name, "1"));
  }

  private static void rejected(JobSpec.Builder spec, String text) {
    assertRefused(ERROR_CODE_INVALID_REQUEST, () -> JobTaskRules.check(spec.build()), text);
  }
}
