package io.tensorflowignite.api;

import static io.tensorflowignite.api.OptionRules.require;

import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.v1.JobSpec;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Rules for the tasks of a job: its kind, its options, and the roles and variables of tasks. */
final class JobTaskRules {
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
        KindRules.isKnown(spec.getStrategy().getKind()),
        "strategy.kind is not set. It is one of %s. Set it to one of them.",
        KindRules.names());
    OptionRules.check(spec);
    Optional<String> broken = KindRules.of(spec).brokenRule(spec);
    require(broken.isEmpty(), "%s", broken.orElse(""));
    Map<String, Integer> named = spec.getStrategy().getRolesMap();
    for (String role : named.keySet()) {
      require(
          ROLE.matcher(role).matches() && !RESERVED.contains(role),
          "strategy.roles has a role '%s'. The name of a role has lower-case letters, digits and"
              + " _, begins with a letter, has at most 31 characters, and is none of %s. Rename"
              + " it.",
          role,
          String.join(", ", RESERVED));
    }
    int tasks = named.values().stream().mapToInt(Integer::intValue).sum();
    require(
        tasks <= MAX_NAMED_TASKS,
        "strategy.roles are %d tasks. All roles of a job together have at most %d. Set"
            + " strategy.roles to smaller numbers.",
        tasks,
        MAX_NAMED_TASKS);
    checkVariables(spec);
  }

  private static void checkVariables(JobSpec spec) {
    Set<String> roles = new TreeSet<>(spec.getStrategy().getRolesMap().keySet());
    roles.add("worker");
    if (KindRules.of(spec).hasParameterServers()) {
      roles.addAll(List.of("ps", "client"));
    }
    if (spec.hasEvaluator()) {
      roles.add("evaluator");
    }
    for (String key : spec.getEnvironment().getVariablesMap().keySet()) {
      int colon = key.indexOf(':');
      require(
          colon < 0 || roles.contains(key.substring(0, colon)),
          "environment.variables has '%s', of a role that the job does not have. A job of kind %s"
              + " has here: %s. Name one of these before the colon.",
          key,
          KindRules.name(spec.getStrategy().getKind()),
          String.join(", ", roles));
      checkVariable(key.substring(colon + 1));
    }
  }

  private static void checkVariable(String name) {
    require(
        VARIABLE.matcher(name).matches(),
        "environment.variables has '%s', which is not a name of a variable. A name has letters,"
            + " digits and _, and does not begin with a digit. Rename the variable.",
        name);
    require(
        !TASK_VARIABLES.contains(name),
        "environment.variables has %s, which each task gets from its node: by it, it finds its"
            + " cluster, its rows or its job. A submission sets none of %s. Leave it out, or give"
            + " the script your value by a variable of another name.",
        name,
        String.join(", ", TASK_VARIABLES));
    require(
        !name.equals("CUDA_VISIBLE_DEVICES"),
        "environment.variables has CUDA_VISIBLE_DEVICES. The agent of a node sets it, so that no"
            + " two tasks get the same GPU. Set workers.gpus in its place.");
  }
}
