package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_EMPTY;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NO_AGENT;

import com.google.protobuf.Duration;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.NodeAttributes;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.Continuous;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CachePeekMode;

/** Checks a job before it enters the table, so that a wrong job fails at its submission. */
final class JobValidator {
  private static final int MAX_NAME = 200;
  private static final long MAX_SECONDS = TimeUnit.DAYS.toSeconds(365);
  private static final long NANOS_OF_A_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final Ignite ignite;
  private final NodeTable nodes;
  private final CodeStore code;
  private final CacheLosses losses;
  private final boolean encrypted;

  /**
   * @param encrypted whether any connections of the cluster are encrypted
   */
  JobValidator(
      Ignite ignite, NodeTable nodes, CodeStore code, CacheLosses losses, boolean encrypted) {
    this.losses = losses;
    this.ignite = ignite;
    this.nodes = nodes;
    this.code = code;
    this.encrypted = encrypted;
  }

  void validate(JobSpec spec) {
    checkForm(spec);
    checkPlaintext(spec);
    checkExists(spec.getCache());
    spec.getMoreCachesList().forEach(this::checkExists);
    if (!spec.getEvaluator().getCache().isEmpty()) {
      checkExists(spec.getEvaluator().getCache());
      checkRows(spec.getEvaluator().getCache());
    }
    if (!spec.getAllowDataLoss()) {
      losses.requireWhole(spec.getCache());
      spec.getMoreCachesList().forEach(losses::requireWhole);
    }
    checkRows(spec.getCache());
    check(
        code.contains(spec.getCodeDigest()),
        ERROR_CODE_CODE_NOT_FOUND,
        "The code archive '%s' is not in the cluster. A job's code must be uploaded before the"
            + " job is submitted. Call UploadCode first.",
        spec.getCodeDigest());
    checkAttributes(spec.getNodesMap());
    checkAttributes(spec.getPsNodesMap());
    checkGpus(spec);
    checkAgents(spec);
  }

  private static void checkForm(JobSpec spec) {
    JobTaskRules.check(spec);
    check(
        spec.getName().length() <= MAX_NAME,
        ERROR_CODE_INVALID_REQUEST,
        "The job's name has %d characters. At most %d are allowed. Set name to a shorter one.",
        spec.getName().length(),
        MAX_NAME);
    check(
        !spec.getScript().isEmpty(),
        ERROR_CODE_INVALID_REQUEST,
        "The job has no script. It is a path inside the code archive. Set script to such a path.");
    JobTextRules.check(spec);
    check(
        (!spec.hasStartTimeout() || isTime(spec.getStartTimeout(), 1))
            && (!spec.hasWaitTimeout() || isTime(spec.getWaitTimeout(), 0))
            && (!spec.hasFirstStepTimeout() || isTime(spec.getFirstStepTimeout(), 0))
            && (!spec.hasStallTimeout() || isTime(spec.getStallTimeout(), 0))
            && (!spec.hasStopGrace() || isTime(spec.getStopGrace(), 0)),
        ERROR_CODE_INVALID_REQUEST,
        "A timeout of the job is invalid. The start timeout is above 0 s, the others are 0 s"
            + " or more, each at most a year. Set start_timeout, first_step_timeout, stall_timeout,"
            + " stop_grace and wait_timeout to such times.");
    check(
        spec.getMaxCrashes() >= 0 && spec.getMaxRestarts() >= 0 && spec.getMinWorkers() >= 0,
        ERROR_CODE_INVALID_REQUEST,
        "The job has max_crashes=%d, max_restarts=%d and min_workers=%d. Each is 0 or more. Set"
            + " max_crashes, max_restarts and min_workers to such numbers.",
        spec.getMaxCrashes(),
        spec.getMaxRestarts(),
        spec.getMinWorkers());
    check(
        Math.abs((long) spec.getPriority()) <= JobQueue.MAX_PRIORITY,
        ERROR_CODE_INVALID_REQUEST,
        "The job has priority %d. A priority is from -%d to %2$d, and 0 if it is not set. Set"
            + " priority to such a number.",
        spec.getPriority(),
        JobQueue.MAX_PRIORITY);
    check(
        spec.getReadRate().isEmpty() || ReadRate.parse(spec.getReadRate()).isPresent(),
        ERROR_CODE_INVALID_REQUEST,
        "The job has the read rate '%s'. A read rate is %s. Set read_rate to such a rate, or leave"
            + " it out.",
        spec.getReadRate(),
        ReadRate.RULE);
    if (spec.hasContinuous()) {
      checkContinuous(spec);
    }
  }

  private void checkGpus(JobSpec spec) {
    List<Node> live = nodes.live();
    check(
        spec.getGpusPerWorker() == 0
            || live.stream().anyMatch(node -> NodeAttributes.suit(ignite, node, spec)),
        ERROR_CODE_INVALID_REQUEST,
        "The job requests %d GPUs for each worker, and no node that it may use has more than %d. A"
            + " worker runs on one node. Set gpus_per_worker to a smaller number, or see which GPUs"
            + " the nodes have: tensorflow-ignite nodes.",
        spec.getGpusPerWorker(),
        live.stream()
            .filter(node -> NodeAttributes.have(ignite, node, spec.getNodesMap()))
            .mapToInt(Node::getGpusCount)
            .max()
            .orElse(0));
  }

  private void checkAttributes(Map<String, String> wanted) {
    check(
        wanted.isEmpty()
            || nodes.live().stream().anyMatch(node -> NodeAttributes.have(ignite, node, wanted)),
        ERROR_CODE_INVALID_REQUEST,
        "No node has %s. A job runs on the nodes that have all attributes that it names. Set them"
            + " in the nodes' configurations (userAttributes), or name others.",
        NodeAttributes.text(wanted));
  }

  private static void checkContinuous(JobSpec spec) {
    Continuous rounds = spec.getContinuous();
    check(
        KindRules.of(spec).canBeContinuous(),
        ERROR_CODE_INVALID_REQUEST,
        "The job is continuous and of kind %s. A continuous job is multi-worker-mirrored: its"
            + " workers train in rounds. Submit it with that kind, or without continuous.",
        KindRules.name(spec.getKind()));
    check(
        rounds.getWhenRows() >= 0
            && (!rounds.hasEvery()
                || (rounds.getWhenRows() == 0 && isTime(rounds.getEvery(), NANOS_OF_A_SECOND))),
        ERROR_CODE_INVALID_REQUEST,
        "The rounds of the job begin every %d s, and when %d rows have changed. At most one of"
            + " every and when_rows is set: from 1 s to a year, or a number of rows above 0. Set"
            + " one of them to such a value.",
        rounds.getEvery().getSeconds(),
        rounds.getWhenRows());
    check(
        rounds.getReplay() >= 0 && rounds.getReplay() < 1,
        ERROR_CODE_INVALID_REQUEST,
        "The job has replay=%s. It is the part of a round's rows that were there before, from 0 to"
            + " below 1. Set replay to such a number: with 0.5, half of the rows.",
        rounds.getReplay());
  }

  private static boolean isTime(Duration time, long leastNanos) {
    return Durations.isValid(time)
        && Math.abs(time.getSeconds()) <= MAX_SECONDS
        && Durations.toNanos(time) >= leastNanos;
  }

  /** In an encrypted cluster a job must accept that TensorFlow's own traffic is not encrypted. */
  private void checkPlaintext(JobSpec spec) {
    check(
        !encrypted || spec.getAllowPlaintext() || !KindRules.of(spec).connectsTasks(),
        ERROR_CODE_INVALID_REQUEST,
        "The job does not accept plain text, and this cluster encrypts its connections, but"
            + " TensorFlow cannot: its tasks exchange gradients and variables in plain text, with"
            + " servers that do not authenticate their callers. A cluster with TLS runs only jobs"
            + " that accept this. Separate the tasks' network (firewall, WireGuard), and submit"
            + " with --allow-plaintext, in Python allow_plaintext=True.");
  }

  private void checkRows(String name) {
    check(
        ignite.cache(name).sizeLong(CachePeekMode.PRIMARY) > 0,
        ERROR_CODE_CACHE_EMPTY,
        "The cache '%s' is empty. A job needs at least one row. Load it first.",
        name);
  }

  private void checkExists(String name) {
    List<String> known = SystemCache.userCaches(ignite);
    check(
        known.contains(name),
        ERROR_CODE_CACHE_NOT_FOUND,
        "There is no cache '%s'. A job reads an existing cache; there are: %s. Load it first, or"
            + " submit with another cache.",
        name,
        known.isEmpty() ? "none" : String.join(", ", known));
  }

  private void checkAgents(JobSpec spec) {
    List<Node> live = nodes.live();
    if (live.stream().anyMatch(node -> node.getAgent().getPid() != 0)) {
      // Of another interpreter, a node finds out when its task starts.
      if (KindRules.of(spec).needsTensorFlow() && spec.getPython().isEmpty()) {
        live.stream()
            .filter(node -> mayRunTasks(node, spec))
            .forEach(JobValidator::checkTensorFlow);
      }
      return;
    }
    String reasons =
        live.stream()
            .map(node -> "node " + MessageText.shortId(node.getId()) + ": " + reason(node))
            .collect(Collectors.joining("; "));
    throw TensorFlowIgniteException.of(
        ERROR_CODE_NO_AGENT,
        "No node can run tasks (%s). A node needs a Python interpreter with the package"
            + " tensorflow-ignite. Set tensorflow.ignite.python, or TENSORFLOW_IGNITE_PYTHON, on"
            + " each node.",
        reasons);
  }

  private boolean mayRunTasks(Node node, JobSpec spec) {
    return NodeAttributes.suit(ignite, node, spec)
        || (!spec.getPsNodesMap().isEmpty()
            && NodeAttributes.have(ignite, node, spec.getPsNodesMap()));
  }

  private static void checkTensorFlow(Node node) {
    check(
        node.getAgent().getPid() == 0 || !node.getAgent().getTensorflowVersion().isEmpty(),
        ERROR_CODE_NO_AGENT,
        "Node %s has no TensorFlow for its interpreter %s. Every node that may run tasks of the job"
            + " needs it. Install it on that node: %<s -m pip install tensorflow-cpu, or"
            + " tensorflow[and-cuda]; or name an interpreter that has it (--python), or other nodes"
            + " (--nodes).",
        MessageText.shortId(node.getId()),
        node.getAgent().getPython());
  }

  private static String reason(Node node) {
    return node.getAgent().getError().isEmpty()
        ? "its agent is still being started"
        : node.getAgent().getError();
  }

  private static void check(boolean holds, ErrorCode code, String format, Object... arguments) {
    if (!holds) {
      throw TensorFlowIgniteException.of(code, format, arguments);
    }
  }
}
