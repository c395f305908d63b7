package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Continuous;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Role;
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
  public void workerHasItsPartitionsInTheVariablesOfIgniteDataset() {
    Map<String, String> env = TaskEnvironment.of(job(), attempt, worker, ADDRESS);
    assertEquals("digits", env.get("IGNITE_DATASET_CACHE_NAME"));
    assertEquals("10.0.0.1", env.get("IGNITE_DATASET_HOST"));
    assertEquals("10820", env.get("IGNITE_DATASET_PORT"));
    assertEquals("true", env.get("IGNITE_DATASET_LOCAL"));
    assertEquals("4,9", env.get("IGNITE_DATASET_PART"));
  }

  @Test
  public void taskWithoutPartitionsDoesNotReadLocally() {
    assertFalse(
        TaskEnvironment.of(job(), attempt, ps, ADDRESS).containsKey("IGNITE_DATASET_LOCAL"));
  }

  @Test
  public void contextHoldsTheWholeAssignment() {
    TaskContext context = TaskEnvironment.context(job(), attempt, ps, ADDRESS);
    assertEquals(1, context.getWorkersCount());
    assertEquals(Arrays.asList(4, 9), context.getWorkers(0).getPartitionsList());
    assertEquals(17, context.getWorkers(0).getRows());
    assertEquals("200MB", context.getReadRate());
    assertEquals(0.5, context.getContinuous().getReplay(), 0);
    assertEquals(ROLE_PS, context.getRole());
    assertEquals(2, context.getAttempt());
  }

  private static Job job() {
    return Job.newBuilder()
        .setSpec(
            JobSpec.newBuilder()
                .setKind(JOB_KIND_PARAMETER_SERVER)
                .setCache("digits")
                .setReadRate("200MB")
                .setContinuous(Continuous.newBuilder().setReplay(0.5)))
        .build();
  }

  private static Task task(Role role, String address) {
    return Task.newBuilder()
        .setRole(role)
        .setStatus(TaskStatus.newBuilder().setAddress(address).setRows(17))
        .build();
  }
}
