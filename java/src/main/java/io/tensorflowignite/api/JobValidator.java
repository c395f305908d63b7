package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.CACHE_EMPTY;
import static io.tensorflowignite.v1.ErrorCode.CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.CODE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.NO_AGENT;

import com.google.protobuf.Duration;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.Texts;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CachePeekMode;

/** What must hold before a job enters the table: an error now is better than a job that fails. */
final class JobValidator {
  private static final int MAX_NAME = 200;
  private static final int MAX_PS = 100;
  private static final long MAX_SECONDS = TimeUnit.DAYS.toSeconds(365);
  private static final Pattern ENV_NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

  private final Ignite ignite;
  private final NodeTable nodes;
  private final CodeStore code;
  private final boolean encrypted;

  /**
   * @param encrypted whether any connections of the cluster are encrypted
   */
  JobValidator(Ignite ignite, NodeTable nodes, CodeStore code, boolean encrypted) {
    this.ignite = ignite;
    this.nodes = nodes;
    this.code = code;
    this.encrypted = encrypted;
  }

  void validate(JobSpec spec) {
    checkForm(spec);
    checkPlaintext(spec);
    checkCache(spec.getCache());
    spec.getMoreCachesList().forEach(this::checkExists);
    check(
        code.contains(spec.getCodeDigest()),
        CODE_NOT_FOUND,
        "The code archive '%s' is not in the cluster. A job's code is uploaded before it is"
            + " submitted. Upload it first.",
        spec.getCodeDigest());
    checkAgents();
  }

  private static void checkForm(JobSpec spec) {
    check(
        spec.getKind() == JobKind.MULTI_WORKER_MIRRORED
            || spec.getKind() == JobKind.PARAMETER_SERVER,
        INVALID_REQUEST,
        "The job has no kind. A kind is multi-worker-mirrored or parameter-server. Name one of"
            + " them.");
    check(
        spec.getName().length() <= MAX_NAME,
        INVALID_REQUEST,
        "The job's name has %d characters. At most %d are allowed. Choose a shorter one.",
        spec.getName().length(),
        MAX_NAME);
    check(
        !spec.getScript().isEmpty(),
        INVALID_REQUEST,
        "The job names no script. It is a path inside the code archive. Name it.");
    check(
        spec.getPsCount() >= 0 && spec.getPsCount() <= MAX_PS,
        INVALID_REQUEST,
        "The job asks for %d parameter servers. Between 1 and %d are allowed. Choose a number in"
            + " between.",
        spec.getPsCount(),
        MAX_PS);
    JobTexts.check(spec);
    for (String name : spec.getEnvMap().keySet()) {
      check(
          ENV_NAME.matcher(name).matches(),
          INVALID_REQUEST,
          "'%s' is no name of an environment variable. It consists of letters, digits and _, and"
              + " begins with no digit. Correct it.",
          name);
    }
    check(
        (!spec.hasStartTimeout() || isTime(spec.getStartTimeout(), 1))
            && (!spec.hasWaitTimeout() || isTime(spec.getWaitTimeout(), 0))
            && (!spec.hasStopGrace() || isTime(spec.getStopGrace(), 0)),
        INVALID_REQUEST,
        "A time-out of the job is none. The start timeout is above 0 s, the stop grace and the wait"
            + " timeout 0 s or more, each at most a year. Correct it.");
    check(
        spec.getMaxCrashes() >= 0 && spec.getMinWorkers() >= 0,
        INVALID_REQUEST,
        "The job asks for %d crashes and %d workers. Both are 0 or more. Correct them.",
        spec.getMaxCrashes(),
        spec.getMinWorkers());
  }

  private static boolean isTime(Duration time, long leastNanos) {
    return Durations.isValid(time)
        && Math.abs(time.getSeconds()) <= MAX_SECONDS
        && Durations.toNanos(time) >= leastNanos;
  }

  /** It would be the only thing in the clear where its owner expects nothing to be. */
  private void checkPlaintext(JobSpec spec) {
    check(
        !encrypted || spec.getAllowPlaintext(),
        INVALID_REQUEST,
        "The job does not accept plain text, and this cluster encrypts its connections, which"
            + " TensorFlow cannot do: what a job's tasks tell each other (gradients, variables)"
            + " travels readable, to servers that ask nobody who he is. A cluster with TLS runs"
            + " only jobs that accept this. Keep the tasks' network apart (firewall, WireGuard),"
            + " and submit with --allow-plaintext, in Python allow_plaintext=True.");
  }

  private void checkCache(String name) {
    checkExists(name);
    check(
        ignite.cache(name).sizeLong(CachePeekMode.PRIMARY) > 0,
        CACHE_EMPTY,
        "The cache '%s' is empty. A job needs at least one row. Load it first.",
        name);
  }

  private void checkExists(String name) {
    List<String> known = SystemCache.userCaches(ignite);
    check(
        known.contains(name),
        CACHE_NOT_FOUND,
        "There is no cache '%s'. A job reads an existing cache; there are: %s. Load it first, or"
            + " name another one.",
        name,
        known.isEmpty() ? "none" : String.join(", ", known));
  }

  private void checkAgents() {
    List<Node> live = nodes.live();
    if (live.stream().anyMatch(node -> node.getAgent().getPid() != 0)) {
      List<Node> lacking =
          live.stream()
              .filter(node -> node.getAgent().getPid() != 0)
              .filter(node -> node.getAgent().getTensorflowVersion().isEmpty())
              .collect(Collectors.toList());
      check(
          lacking.isEmpty(),
          NO_AGENT,
          "Node %s has no TensorFlow for its interpreter %s. Every node's interpreter needs it."
              + " Install it there: %<s -m pip install tensorflow-cpu, or tensorflow[and-cuda].",
          lacking.isEmpty() ? "" : Texts.shortId(lacking.get(0).getId()),
          lacking.isEmpty() ? "" : lacking.get(0).getAgent().getPython());
      return;
    }
    String reasons =
        live.stream()
            .map(node -> "node " + Texts.shortId(node.getId()) + ": " + reason(node))
            .collect(Collectors.joining("; "));
    throw new TensorFlowIgniteException(
        NO_AGENT,
        "No node can run tasks ("
            + reasons
            + "). A node needs a Python interpreter with the package tensorflow-ignite. Set"
            + " tensorflow.ignite.python, or TENSORFLOW_IGNITE_PYTHON, on each node.");
  }

  private static String reason(Node node) {
    return node.getAgent().getError().isEmpty()
        ? "its agent is still being started"
        : node.getAgent().getError();
  }

  private static void check(boolean holds, ErrorCode code, String format, Object... arguments) {
    if (!holds) {
      throw new TensorFlowIgniteException(code, String.format(format, arguments));
    }
  }
}
