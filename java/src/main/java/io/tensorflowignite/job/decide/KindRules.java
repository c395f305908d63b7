package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_CENTRAL_STORAGE;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_CUSTOM;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_MIRRORED;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_ONE;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PREDICT;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_NAMED;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Role;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The rules of each kind of job: its roles, which of them run the script, and the consequence of
 * the end of a task of each role. All Java code that depends on a kind uses this table.
 */
public final class KindRules {
  private static final KindRules ON_EVERY_WORKER = new KindRules().scripts(ROLE_WORKER);
  private static final KindRules IN_ONE_PROCESS = new KindRules().scripts(ROLE_WORKER).alone();

  private static final Map<JobKind, KindRules> ALL =
      ImmutableMap.<JobKind, KindRules>builder()
          .put(JOB_KIND_MULTI_WORKER_MIRRORED, ON_EVERY_WORKER)
          .put(
              JOB_KIND_PARAMETER_SERVER,
              new KindRules()
                  .scripts(ROLE_CLIENT)
                  .servers(ROLE_WORKER, ROLE_PS)
                  .replaces(ROLE_CLIENT, ROLE_WORKER))
          .put(JOB_KIND_ONE, IN_ONE_PROCESS)
          .put(JOB_KIND_MIRRORED, IN_ONE_PROCESS)
          .put(JOB_KIND_CENTRAL_STORAGE, IN_ONE_PROCESS)
          .put(JOB_KIND_CUSTOM, new KindRules().scripts(ROLE_WORKER, ROLE_NAMED).anyLibrary())
          .put(
              JOB_KIND_PREDICT,
              new KindRules().scripts(ROLE_WORKER).replaces(ROLE_WORKER).predicts())
          .build();

  private Set<Role> scriptRoles = Set.of();
  private Set<Role> serverRoles = Set.of();
  private Set<Role> replaceableRoles = Set.of();
  private boolean isAlone;
  private boolean isPrediction;
  private boolean needsTensorFlow = true;

  /** The rules of the kind of a job; if it has no kind, the rules of the first kind. */
  public static KindRules of(JobSpec spec) {
    return ALL.getOrDefault(spec.getStrategy().getKind(), ON_EVERY_WORKER);
  }

  /** Whether this version knows the kind. */
  public static boolean isKnown(JobKind kind) {
    return ALL.containsKey(kind);
  }

  /** All kinds, for messages. */
  public static String names() {
    return ALL.keySet().stream().map(KindRules::name).collect(Collectors.joining(", "));
  }

  /** The kind as people write it: multi-worker-mirrored. */
  public static String name(JobKind kind) {
    return MessageText.name(kind).toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Whether tasks of this role run the script. The job has succeeded when all of them have. */
  public boolean runsScript(Role role) {
    return scriptRoles.contains(role);
  }

  /**
   * Whether tasks of this role are TensorFlow servers. A server ends only when it is stopped: if it
   * ends before, that is a failure with any exit code.
   */
  public boolean isServer(Role role) {
    return serverRoles.contains(role);
  }

  /** Whether the job has parameter servers, and a client process that coordinates the workers. */
  public boolean hasParameterServers() {
    return serverRoles.contains(ROLE_PS);
  }

  /**
   * Whether a task of this role can be restarted while the other tasks run. The variables of a lost
   * parameter server cannot be restored. Tasks that predict do not depend on each other. In the
   * other kinds only the evaluator can be restarted alone.
   */
  public boolean isReplaceable(Role role) {
    return role == ROLE_EVALUATOR || replaceableRoles.contains(role);
  }

  /** Whether the job has one worker, which reads the whole cache. */
  public boolean isAlone() {
    return isAlone;
  }

  /** Whether TensorFlow connects the tasks of a job with each other. */
  public boolean connectsTasks() {
    return !isPrediction;
  }

  /** Whether every node needs TensorFlow. */
  public boolean needsTensorFlow() {
    return needsTensorFlow;
  }

  /** Why the specification breaks a rule of its kind, as a sentence; empty: it breaks none. */
  public Optional<String> brokenRule(JobSpec spec) {
    String kind = name(spec.getStrategy().getKind());
    if (isAlone && (spec.getWorkers().getPerNode() > 1 || spec.getWorkers().getMinimum() > 1)) {
      return Optional.of(
          "workers.per_node is "
              + spec.getWorkers().getPerNode()
              + " and workers.minimum is "
              + spec.getWorkers().getMinimum()
              + ". A job of kind "
              + kind
              + " has one process, and no further workers. Leave both out, or submit with strategy"
              + " multi-worker-mirrored.");
    }
    if (isPrediction && spec.getPrediction().getOutputCache().isEmpty()) {
      return Optional.of(
          "The job has no prediction.output_cache. A job of kind predict writes its results into a"
              + " cache. Set prediction.output_cache to its name.");
    }
    return Optional.empty();
  }

  private KindRules scripts(Role... roles) {
    scriptRoles = ImmutableSet.copyOf(roles);
    return this;
  }

  private KindRules servers(Role... roles) {
    serverRoles = ImmutableSet.copyOf(roles);
    return this;
  }

  private KindRules replaces(Role... roles) {
    replaceableRoles = ImmutableSet.copyOf(roles);
    return this;
  }

  private KindRules predicts() {
    isPrediction = true;
    return this;
  }

  private KindRules alone() {
    isAlone = true;
    return this;
  }

  private KindRules anyLibrary() {
    needsTensorFlow = false;
    return this;
  }
}
