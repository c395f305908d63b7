package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.RoleCount;
import io.tensorflowignite.v1.RoleEnvironment;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Rules for the tasks of a job: its kind, their roles and numbers, and their variables. */
final class JobTaskRules {
  private static final int MAX_PS = 100;
  private static final int MAX_WORKERS_PER_NODE = 64;
  private static final int MAX_GPUS = 64;
  private static final int MAX_NAMED_TASKS = 100;
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final Pattern ROLE = Pattern.compile("[a-z][a-z0-9_]{0,30}");

  /**
   * Variables by which a task finds its cluster and its job: the service and the agent set them.
   */
  private static final Set<String> TASK_VARIABLES =
      new TreeSet<>(
          Set.of(
              "IGNITE_DATASET_CACHE_NAME",
              "IGNITE_DATASET_HOST",
              "IGNITE_DATASET_LOCAL",
              "IGNITE_DATASET_PART",
              "IGNITE_DATASET_PORT",
              "TENSORFLOW_IGNITE_ADDRESS",
              "TENSORFLOW_IGNITE_COMMAND",
              "TENSORFLOW_IGNITE_CONTEXT",
              "TENSORFLOW_IGNITE_PROGRESS",
              "TENSORFLOW_IGNITE_TASK",
              "TF_CHIEF_SERVER",
              "TF_CLUSTER",
              "TF_CONFIG",
              "TF_GRPC_REUSE_PORT",
              "TF_WORKERS"));

  /** Roles with a meaning of their own, here or in TensorFlow. */
  private static final Set<String> RESERVED =
      new TreeSet<>(Set.of("chief", "client", "evaluator", "named", "ps", "task", "worker"));

  private JobTaskRules() {}

  static void check(JobSpec spec) {
    require(
        KindRules.isKnown(spec.getKind()),
        "The job has no kind. A kind is one of %s. Set kind to one of them.",
        KindRules.names());
    Optional<String> broken = KindRules.of(spec).brokenRule(spec);
    require(broken.isEmpty(), "%s", broken.orElse(""));
    require(
        spec.getPsCount() >= 0 && spec.getPsCount() <= MAX_PS,
        "The job requests %d parameter servers. From 1 to %d are allowed. Set ps_count to such a"
            + " number.",
        spec.getPsCount(),
        MAX_PS);
    require(
        spec.getWorkersPerNode() >= 0 && spec.getWorkersPerNode() <= MAX_WORKERS_PER_NODE,
        "The job requests %d workers on each node. From 1 to %d are allowed. Set workers_per_node"
            + " to such a number.",
        spec.getWorkersPerNode(),
        MAX_WORKERS_PER_NODE);
    require(
        spec.getGpusPerWorker() >= 0 && spec.getGpusPerWorker() <= MAX_GPUS,
        "The job requests %d GPUs for each worker. From 0 to %d are allowed. Set gpus_per_worker to"
            + " such a number.",
        spec.getGpusPerWorker(),
        MAX_GPUS);
    Set<String> roles = new HashSet<>();
    int tasks = 0;
    for (RoleCount role : spec.getRolesList()) {
      require(
          ROLE.matcher(role.getName()).matches()
              && !RESERVED.contains(role.getName())
              && roles.add(role.getName()),
          "The job has a role '%s'. The name of a role has lower-case letters, digits and _, begins"
              + " with a letter, has at most 31 characters, is given once, and is none of %s."
              + " Rename it in roles.",
          role.getName(),
          String.join(", ", RESERVED));
      tasks += Math.max(0, Math.min(role.getCount(), MAX_NAMED_TASKS + 1));
      require(
          role.getCount() > 0 && tasks <= MAX_NAMED_TASKS,
          "The job requests %d tasks of role '%s'. Each role has at least one task, and all roles"
              + " together at most %d. Set roles to such numbers.",
          role.getCount(),
          role.getName(),
          MAX_NAMED_TASKS);
    }
    roles.add("worker");
    if (KindRules.of(spec).hasParameterServers()) {
      roles.addAll(List.of("ps", "client"));
    }
    if (spec.hasEvaluator()) {
      roles.add("evaluator");
    }
    checkVariables(spec.getEnvMap());
    for (RoleEnvironment role : spec.getRoleEnvList()) {
      require(
          roles.contains(role.getRole()),
          "The job sets variables of the role '%s', which it does not have. A job of kind %s has"
              + " here: %s. Name one of these in role_env.",
          role.getRole(),
          KindRules.name(spec.getKind()),
          String.join(", ", new TreeSet<>(roles)));
      checkVariables(role.getEnvMap());
    }
  }

  private static void checkVariables(Map<String, String> env) {
    for (String name : env.keySet()) {
      require(
          VARIABLE.matcher(name).matches(),
          "'%s' is not a name of an environment variable. A name has letters, digits and _, and"
              + " does not begin with a digit. Rename the variable in env.",
          name);
      require(
          !TASK_VARIABLES.contains(name),
          "The job sets %s, which each task gets from its node: by it, it finds its cluster, its"
              + " rows or its job. A submission sets none of %s. Leave it out of env and role_env.",
          name,
          String.join(", ", TASK_VARIABLES));
      require(
          !name.equals("CUDA_VISIBLE_DEVICES"),
          "The job sets CUDA_VISIBLE_DEVICES. The agent of a node sets it, so that no two tasks get"
              + " the same GPU. Set gpus_per_worker in its place.");
    }
  }

  private static void require(boolean holds, String format, Object... arguments) {
    if (!holds) {
      throw TensorFlowIgniteException.of(ERROR_CODE_INVALID_REQUEST, format, arguments);
    }
  }
}
