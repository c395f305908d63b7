package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
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

  private static final String CHIEF = "chief";

  private TaskEnvironment() {}

  /**
   * @param nodeAddress host:port of the API and data endpoint of the task's node.
   */
  static Map<String, String> of(Job job, Attempt attempt, Task task, String nodeAddress) {
    Map<String, String> env = new LinkedHashMap<>();
    int colon = nodeAddress.lastIndexOf(':');
    if (!KindRules.of(job.getSpec()).isAlone()) {
      // With TF_CONFIG, MirroredStrategy would use the devices of a cluster.
      putCluster(job, attempt, task, env);
    }
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
            .setKind(job.getSpec().getStrategy().getKind())
            .setAttempt(attempt.getNumber())
            .setRole(task.getRole())
            .setIndex(task.getIndex())
            .setRoleName(task.getRoleName())
            .setRoleIndex(task.getRoleIndex())
            .setIncarnation(task.getIncarnation())
            .setCache(job.getSpec().getCache())
            .setNodeAddress(nodeAddress)
            .setCheckpointDirectory(job.getSpec().getCheckpointDirectory())
            .setAllowDataLoss(job.getSpec().getRestart().getAllowDataLoss())
            .setEvaluatorCache(job.getSpec().getEvaluator().getCache())
            .setReadRate(job.getSpec().getReadRate())
            .setAssignmentDigest(attempt.getAssignmentDigest());
    if (job.getSpec().hasRounds()) {
      context.setRounds(job.getSpec().getRounds());
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

  /** TF_CONFIG, and the variables that scripts of Ignite 2.7 use to find the cluster. */
  private static void putCluster(Job job, Attempt attempt, Task task, Map<String, String> env) {
    boolean hasParameterServers = KindRules.of(job.getSpec()).hasParameterServers();
    JsonObject cluster = new JsonObject();
    JsonArray workers = new JsonArray();
    JsonObject self = new JsonObject();
    if (task.getRole() == ROLE_EVALUATOR) {
      self.addProperty("type", MessageText.role(ROLE_EVALUATOR));
      self.addProperty("index", 0);
    }
    for (Task member : attempt.getTasksList()) {
      if (member.getRole() == ROLE_EVALUATOR) {
        // As a member of the cluster it would be waited for.
        continue;
      }
      String type = type(job, member);
      if (!cluster.has(type)) {
        cluster.add(type, new JsonArray());
      }
      JsonArray addresses = cluster.getAsJsonArray(type);
      if (member.getRole() == ROLE_WORKER) {
        workers.add("/job:" + type + "/task:" + addresses.size());
      }
      if (member.getRole() == task.getRole() && member.getIndex() == task.getIndex()) {
        self.addProperty("type", type);
        self.addProperty("index", addresses.size());
      }
      addresses.add(member.getStatus().getAddress());
    }
    JsonObject config = new JsonObject();
    config.add("cluster", cluster);
    config.add("task", self);
    if (hasParameterServers) {
      config.addProperty("rpc_layer", "grpc");
    }
    env.put("TF_CONFIG", config.toString());
    env.put("TF_CLUSTER", cluster.toString());
    env.put("TF_WORKERS", workers.toString());
    String chief = cluster.has(CHIEF) ? CHIEF : MessageText.role(ROLE_WORKER);
    env.put("TF_CHIEF_SERVER", "grpc://" + cluster.getAsJsonArray(chief).get(0).getAsString());
  }

  /** The type of a task in TF_CONFIG. TensorFlow calls the client process of a job its chief. */
  private static String type(Job job, Task task) {
    switch (task.getRole()) {
      case ROLE_CLIENT:
        return CHIEF;
      case ROLE_NAMED:
        return task.getRoleName();
      case ROLE_WORKER:
        return job.getSpec().getStrategy().getChief() && task.getIndex() == 0
            ? CHIEF
            : MessageText.role(ROLE_WORKER);
      default:
        return MessageText.role(task.getRole());
    }
  }
}
