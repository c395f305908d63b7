package io.tensorflowignite.api;

import static io.tensorflowignite.api.OptionRules.require;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_EMPTY;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NO_AGENT;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.NodeAttributes;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CachePeekMode;

/** Checks a job before it enters the table, so that a wrong job fails at its submission. */
final class JobValidator {
  private static final int MAX_NAME = 200;

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
    spec.getAccess().getCachesList().forEach(this::checkExists);
    if (!spec.getEvaluator().getCache().isEmpty()) {
      checkExists(spec.getEvaluator().getCache());
      checkRows(spec.getEvaluator().getCache());
    }
    if (!spec.getRestart().getAllowDataLoss()) {
      losses.requireWhole(spec.getCache());
      spec.getAccess().getCachesList().forEach(losses::requireWhole);
    }
    checkRows(spec.getCache());
    check(
        code.contains(spec.getCodeDigest()),
        ERROR_CODE_CODE_NOT_FOUND,
        "The code archive '%s' is not in the cluster. A job's code must be uploaded before the"
            + " job is submitted. Call UploadCode first.",
        spec.getCodeDigest());
    checkAttributes("workers.nodes", spec.getWorkers().getNodesMap());
    checkAttributes("strategy.server_nodes", spec.getStrategy().getServerNodesMap());
    checkGpus(spec);
    checkAgents(spec);
  }

  private static void checkForm(JobSpec spec) {
    JobTaskRules.check(spec);
    require(
        spec.getName().length() <= MAX_NAME,
        "name has %d characters. At most %d are allowed. Set name to a shorter one.",
        spec.getName().length(),
        MAX_NAME);
    require(
        !spec.getScript().isEmpty(),
        "script is not set. It is a path inside the code archive. Set script to a path.");
    JobTextRules.check(spec);
    require(
        spec.getReadRate().isEmpty() || ReadRate.parse(spec.getReadRate()).isPresent(),
        "read_rate is '%s'. A read rate is %s. Set read_rate to a rate, or leave it out.",
        spec.getReadRate(),
        ReadRate.RULE);
    require(
        !spec.getRounds().hasEvery() || spec.getRounds().getWhenRows() == 0,
        "rounds.every is %d s and rounds.when_rows is %d. A round begins by time, or by the number"
            + " of changes. Leave one of them out.",
        spec.getRounds().getEvery().getSeconds(),
        spec.getRounds().getWhenRows());
  }

  private void checkGpus(JobSpec spec) {
    List<Node> live = nodes.live();
    require(
        spec.getWorkers().getGpus() == 0
            || live.stream().anyMatch(node -> NodeAttributes.suit(ignite, node, spec)),
        "workers.gpus is %d, and no node that the job may use has more than %d GPUs. A worker runs"
            + " on one node. Set workers.gpus to a smaller number, or see which GPUs the nodes"
            + " have: tensorflow-ignite nodes.",
        spec.getWorkers().getGpus(),
        live.stream()
            .filter(node -> NodeAttributes.have(ignite, node, spec.getWorkers().getNodesMap()))
            .mapToInt(Node::getGpusCount)
            .max()
            .orElse(0));
  }

  private void checkAttributes(String option, Map<String, String> requested) {
    require(
        requested.isEmpty()
            || nodes.live().stream().anyMatch(node -> NodeAttributes.have(ignite, node, requested)),
        "%s cannot be met: no node has %s. A job runs on the nodes that have all attributes that it"
            + " names. Set them in the nodes' configurations (userAttributes), or name others.",
        option,
        NodeAttributes.text(requested));
  }

  /** In an encrypted cluster a job must accept that TensorFlow's own traffic is not encrypted. */
  private void checkPlaintext(JobSpec spec) {
    require(
        !encrypted || spec.getAccess().getAllowPlaintext() || !KindRules.of(spec).connectsTasks(),
        "The job does not accept plain text, and this cluster encrypts its connections, but"
            + " TensorFlow cannot: its tasks exchange gradients and variables in plain text, with"
            + " servers that do not authenticate their callers. A cluster with TLS runs only jobs"
            + " that accept this. Separate the tasks' network (firewall, WireGuard), and submit"
            + " with access.allow_plaintext=true.");
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
      if (KindRules.of(spec).needsTensorFlow() && spec.getEnvironment().getPython().isEmpty()) {
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
        || (!spec.getStrategy().getServerNodesMap().isEmpty()
            && NodeAttributes.have(ignite, node, spec.getStrategy().getServerNodesMap()));
  }

  private static void checkTensorFlow(Node node) {
    check(
        node.getAgent().getPid() == 0 || !node.getAgent().getTensorflowVersion().isEmpty(),
        ERROR_CODE_NO_AGENT,
        "Node %s has no TensorFlow for its interpreter %s. Every node that may run tasks of the job"
            + " needs it. Install it on that node: %<s -m pip install tensorflow-cpu, or"
            + " tensorflow[and-cuda]; or name an interpreter that has it (environment.python), or"
            + " other nodes (workers.nodes).",
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
