package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskContext;
import io.tensorflowignite.v1.WorkerAssignment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** A task's environment (TF_CONFIG, IGNITE_DATASET_* and its node's address) and its context. */
final class TaskEnvironment {
  /**
   * Linux limits one environment string to 128 KiB; a longer list of partitions is only in the
   * context.
   */
  private static final int MAX_VALUE_LENGTH = 100_000;

  private TaskEnvironment() {}

  /**
   * @param nodeAddress host:port of the API and data endpoint of the task's node.
   */
  static Map<String, String> of(Job job, Attempt attempt, Task task, String nodeAddress) {
    Map<String, String> env = new LinkedHashMap<>();
    int colon = nodeAddress.lastIndexOf(':');
    env.put("TF_CONFIG", tfConfig(job, attempt, task));
    env.put("TENSORFLOW_IGNITE_ADDRESS", nodeAddress);
    env.put("IGNITE_DATASET_CACHE_NAME", job.getSpec().getCache());
    env.put("IGNITE_DATASET_HOST", nodeAddress.substring(0, colon));
    env.put("IGNITE_DATASET_PORT", nodeAddress.substring(colon + 1));
    if (task.getPartitionsCount() > 0) {
      env.put("IGNITE_DATASET_LOCAL", "true");
      String partitions =
          task.getPartitionsList().stream().map(String::valueOf).collect(Collectors.joining(","));
      if (partitions.length() <= MAX_VALUE_LENGTH) {
        env.put("IGNITE_DATASET_PART", partitions);
      }
    }
    return env;
  }

  static TaskContext context(Job job, Attempt attempt, Task task, String nodeAddress) {
    TaskContext.Builder context =
        TaskContext.newBuilder()
            .setJobId(job.getId())
            .setJobName(job.getSpec().getName())
            .setKind(job.getSpec().getKind())
            .setAttempt(attempt.getNumber())
            .setRole(task.getRole())
            .setIndex(task.getIndex())
            .setIncarnation(task.getIncarnation())
            .setCache(job.getSpec().getCache())
            .setNodeAddress(nodeAddress)
            .setCheckpointDirectory(job.getSpec().getCheckpointDirectory())
            .setAllowDataLoss(job.getSpec().getAllowDataLoss())
            .setReadRate(job.getSpec().getReadRate())
            .setAssignmentDigest(attempt.getAssignmentDigest());
    if (job.getSpec().hasContinuous()) {
      context.setContinuous(job.getSpec().getContinuous());
    }
    attempt.getTasksList().stream()
        .filter(worker -> worker.getPartitionsCount() > 0)
        .forEach(
            worker ->
                context.addWorkers(
                    WorkerAssignment.newBuilder()
                        .setIndex(worker.getIndex())
                        .setNodeId(worker.getNodeId())
                        .addAllPartitions(worker.getPartitionsList())
                        .setRows(worker.getStatus().getRows())));
    return context.build();
  }

  private static String tfConfig(Job job, Attempt attempt, Task task) {
    JsonObject cluster = new JsonObject();
    for (Task member : attempt.getTasksList()) {
      String name = tensorFlowName(member.getRole());
      if (!cluster.has(name)) {
        cluster.add(name, new JsonArray());
      }
      cluster.getAsJsonArray(name).add(member.getStatus().getAddress());
    }
    JsonObject self = new JsonObject();
    self.addProperty("type", tensorFlowName(task.getRole()));
    self.addProperty("index", task.getIndex());
    JsonObject config = new JsonObject();
    config.add("cluster", cluster);
    config.add("task", self);
    if (job.getSpec().getKind() == JOB_KIND_PARAMETER_SERVER) {
      config.addProperty("rpc_layer", "grpc");
    }
    return config.toString();
  }

  /** TensorFlow calls the coordinator of a parameter-server job its chief. */
  private static String tensorFlowName(Role role) {
    return role == ROLE_CLIENT ? "chief" : MessageText.role(role);
  }
}
