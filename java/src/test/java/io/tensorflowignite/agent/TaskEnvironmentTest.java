package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_CUSTOM;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_MIRRORED;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_NAMED;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Rounds;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskContext;
import io.tensorflowignite.v1.TaskStatus;
import java.util.Arrays;
import java.util.Map;
import org.junit.Test;

public class TaskEnvironmentTest {
  private static final String ADDRESS = "10.0.0.1:10820";

  private final Task worker =
      task(ROLE_WORKER, "10.0.0.1:7001").toBuilder().addAllPartitions(Arrays.asList(4, 9)).build();
  private final Task ps = task(ROLE_PS, "10.0.0.1:7002");
  private final Task client = task(ROLE_CLIENT, "10.0.0.1:7003");
  private final Attempt attempt =
      Attempt.newBuilder().setNumber(2).addTasks(worker).addTasks(ps).addTasks(client).build();

  @Test
  public void clientProcessIsTheChiefOfTensorFlow() {
    assertEquals(
        "{\"cluster\":{\"worker\":[\"10.0.0.1:7001\"],\"ps\":[\"10.0.0.1:7002\"],\"chief\":[\"10.0.0.1:7003\"]},"
            + "\"task\":{\"type\":\"chief\",\"index\":0},\"rpc_layer\":\"grpc\"}",
        TaskEnvironment.of(job(), attempt, client, ADDRESS).get("TF_CONFIG"));
  }

  @Test
  public void firstWorkerIsTheChiefIfTheJobAsksForOne() {
    Job job =
        job(
            JobSpec.newBuilder()
                .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_CUSTOM).setChief(true)));
    Task second =
        worker.toBuilder().setIndex(1).setStatus(status("10.0.0.2:7001")).clearPartitions().build();
    Task actor = task(ROLE_NAMED, "10.0.0.2:7002").toBuilder().setRoleName("actor").build();
    Attempt attempt =
        Attempt.newBuilder().addTasks(worker).addTasks(second).addTasks(actor).build();
    Map<String, String> env = TaskEnvironment.of(job, attempt, second, ADDRESS);
    String cluster =
        "{\"chief\":[\"10.0.0.1:7001\"],\"worker\":[\"10.0.0.2:7001\"],\"actor\":[\"10.0.0.2:7002\"]}";
    assertEquals(
        "{\"cluster\":" + cluster + ",\"task\":{\"type\":\"worker\",\"index\":0}}",
        env.get("TF_CONFIG"));
    assertEquals(cluster, env.get("TF_CLUSTER"));
    assertEquals("[\"/job:chief/task:0\",\"/job:worker/task:0\"]", env.get("TF_WORKERS"));
    assertEquals("grpc://10.0.0.1:7001", env.get("TF_CHIEF_SERVER"));
  }

  @Test
  public void oneProcessHasNoClusterOfTensorFlow() {
    Job job =
        job(JobSpec.newBuilder().setStrategy(Strategy.newBuilder().setKind(JOB_KIND_MIRRORED)));
    Attempt attempt = Attempt.newBuilder().addTasks(worker).build();
    assertFalse(TaskEnvironment.of(job, attempt, worker, ADDRESS).containsKey("TF_CONFIG"));
  }

  @Test
  public void workerHasItsPartitionsInTheVariablesOfIgniteDataset() {
    Map<String, String> env = TaskEnvironment.of(job(), attempt, worker, ADDRESS);
    assertEquals("digits", env.get("IGNITE_DATASET_CACHE_NAME"));
    assertEquals("10.0.0.1", env.get("IGNITE_DATASET_HOST"));
    assertEquals("10820", env.get("IGNITE_DATASET_PORT"));
    assertEquals("true", env.get("IGNITE_DATASET_LOCAL"));
    assertEquals("4,9", env.get("IGNITE_DATASET_PART"));
    assertFalse(
        "without partitions",
        TaskEnvironment.of(job(), attempt, ps, ADDRESS).containsKey("IGNITE_DATASET_LOCAL"));
  }

  @Test
  public void contextHoldsTheWholeAssignment() {
    TaskContext context = TaskEnvironment.context(job(), attempt, ps, ADDRESS);
    assertEquals(1, context.getWorkersCount());
    assertEquals(Arrays.asList(4, 9), context.getWorkers(0).getPartitionsList());
    assertEquals(17, context.getWorkers(0).getRows());
    assertEquals("200MB", context.getReadRate());
    assertEquals(0.5, context.getRounds().getReplay(), 0);
    assertEquals(ROLE_PS, context.getRole());
    assertEquals(2, context.getAttempt());
  }

  private static Job job() {
    return job(
        JobSpec.newBuilder()
            .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_PARAMETER_SERVER))
            .setReadRate("200MB")
            .setRounds(Rounds.newBuilder().setReplay(0.5)));
  }

  private static Job job(JobSpec.Builder spec) {
    return Job.newBuilder().setSpec(spec.setCache("digits")).build();
  }

  private static TaskStatus status(String address) {
    return TaskStatus.newBuilder().setAddress(address).setRows(17).build();
  }

  private static Task task(Role role, String address) {
    return Task.newBuilder().setRole(role).setStatus(status(address)).build();
  }
}
