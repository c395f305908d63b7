package io.tensorflowignite.node;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.settings.TaskSettings.MAX_WARM_PROCESSES;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.security.tls.PemFiles;
import io.tensorflowignite.settings.QueueSettings;
import io.tensorflowignite.settings.TaskSettings;
import io.tensorflowignite.settings.TlsSettings;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collection;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The settings of one node: each is a system property {@code tensorflow.ignite.NAME} or else the
 * environment variable {@code TENSORFLOW_IGNITE_NAME}, since Ignite takes a bean's properties from
 * one node for the whole cluster.
 */
final class NodeSettings {
  private static final String WARM_PROCESSES = "tasks.warmProcesses";
  private static final String MAX_TASKS = "jobs.maxTasks";
  private static final String TASK_NICE = "tasks.nice";

  final String python;
  final String host;
  final Ports ports;
  final Ports rowsPorts;

  /** Of the HTTP port, which is off unless it is set. */
  final Ports httpPorts;

  final Path work;
  final PemFiles tls;
  final OnMinority onMinority;

  /** In place of the cluster's number of processes that wait for tasks. */
  final OptionalInt warmProcesses;

  /** In place of the cluster's number of tasks that are admitted on a node. */
  final OptionalInt maxTasks;

  /** In place of the cluster's priority of tasks. */
  final OptionalInt taskNice;

  private NodeSettings(
      String python,
      String host,
      Ports ports,
      Ports rowsPorts,
      Ports httpPorts,
      Path work,
      PemFiles tls,
      OnMinority onMinority,
      OptionalInt warmProcesses,
      OptionalInt maxTasks,
      OptionalInt taskNice) {
    this.python = python;
    this.host = host;
    this.ports = ports;
    this.rowsPorts = rowsPorts;
    this.httpPorts = httpPorts;
    this.work = work;
    this.tls = tls;
    this.onMinority = onMinority;
    this.warmProcesses = warmProcesses;
    this.maxTasks = maxTasks;
    this.taskNice = taskNice;
  }

  static NodeSettings of(Ignite ignite) {
    Ports ports = Ports.of("port", "10820..10919", true);
    // If the API may use any free port, rows may too.
    Ports rowsPorts = Ports.of("rows.port", ports.first == 0 ? "0" : "10920..11019", false);
    String work = value("work", "");
    Path directory =
        work.isEmpty()
            ? Paths.get(
                ignite.configuration().getWorkDirectory(),
                "tensorflow-ignite",
                directoryName(ignite))
            : Paths.get(work);
    return new NodeSettings(
        value("python", "python3"),
        value("host", "127.0.0.1"),
        ports,
        rowsPorts,
        Ports.of("http.port", Ports.NONE, false),
        directory.toAbsolutePath(),
        pemFiles(),
        OnMinority.of(value(OnMinority.NAME, OnMinority.WAIT), value(OnMinority.SECONDS, "30")),
        number(
            WARM_PROCESSES,
            "of processes of this node that wait for a task, from 0, for none,",
            0,
            MAX_WARM_PROCESSES),
        number(
            MAX_TASKS,
            "of tasks that are admitted on this node at one time, from 1",
            1,
            QueueSettings.MAX_TASKS),
        number(
            TASK_NICE,
            "that is added to the nice value of this node for its tasks, from 0",
            0,
            TaskSettings.MAX_NICE));
  }

  /** A number in place of the cluster's; empty: it is not set. */
  private static OptionalInt number(String name, String meaning, int least, int most) {
    String number = value(name, "");
    if (number.isEmpty()) {
      return OptionalInt.empty();
    }
    if (number.matches("\\d{1,5}")) {
      int parsed = Integer.parseInt(number);
      if (parsed >= least && parsed <= most) {
        return OptionalInt.of(parsed);
      }
    }
    throw invalidRequest(
        "tensorflow.ignite.%s is '%s'. It is the number %s to %d. Set the system property, or"
            + " the environment variable %s, of this node to a number in this range.",
        name, number, meaning, most, variable(name));
  }

  static PemFiles pemFiles() {
    return new PemFiles(file("tls.certificate"), file("tls.key"), file("tls.ca"));
  }

  /** The TLS of the node's servers, by the settings of the cluster and of this node. */
  NodeTls tls(Ignite ignite, TlsSettings cluster, Loops loops, IgniteLogger log) {
    return NodeTls.of(
        cluster,
        tls,
        ignite.configuration().getSslContextFactory(),
        work.resolve("authorities.pem"),
        NodeTls.POLL_INTERVAL,
        MessageText.shortId(ignite.cluster().localNode().id().toString()),
        loops,
        log);
  }

  /** Whether only this host can connect to the API. */
  boolean isLoopback() {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      throw unknownHost(e);
    }
  }

  /** The address at which other nodes can connect to this node. */
  String advertisedHost(Ignite ignite) {
    try {
      InetAddress bound = InetAddress.getByName(host);
      if (!bound.isAnyLocalAddress()) {
        return host;
      }
      Collection<String> addresses = ignite.cluster().localNode().addresses();
      for (String address : addresses) {
        InetAddress candidate = InetAddress.getByName(address);
        if (!candidate.isLoopbackAddress() && !address.contains(":")) {
          return address;
        }
      }
      return "127.0.0.1";
    } catch (UnknownHostException e) {
      throw unknownHost(e);
    }
  }

  private TensorFlowIgniteException unknownHost(UnknownHostException cause) {
    return new TensorFlowIgniteException(
        ERROR_CODE_INVALID_REQUEST,
        "tensorflow.ignite.host is '"
            + host
            + "', which this host cannot resolve. The node API binds to this address. Set the"
            + " system property, or the environment variable TENSORFLOW_IGNITE_HOST, of this node"
            + " to an address of this host.",
        cause);
  }

  /** An absolute path; null if the setting is missing. */
  private static Path file(String name) {
    String path = value(name, "");
    return path.isEmpty() ? null : Paths.get(path).toAbsolutePath();
  }

  static String variable(String name) {
    return "TENSORFLOW_IGNITE_"
        + name.replaceAll("([a-z])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT).replace('.', '_');
  }

  private static String value(String name, String otherwise) {
    String property = System.getProperty("tensorflow.ignite." + name);
    String environment = System.getenv(variable(name));
    return property != null ? property : environment != null ? environment : otherwise;
  }

  /** Stays the same after a restart, so that the next agent finds files of the last one. */
  private static String directoryName(Ignite ignite) {
    return String.valueOf(ignite.cluster().localNode().consistentId())
        .replaceAll("[^A-Za-z0-9.-]", "_");
  }

  /** A range of ports; a server listens on the first free one. */
  static final class Ports {
    private static final Pattern PORTS = Pattern.compile("(\\d{1,5})(?:\\.\\.(\\d{1,5}))?");
    private static final int MAX_PORT = 65_535;
    private static final String NONE = "none";

    final int first;
    final int last;

    private Ports(int first, int last) {
      this.first = first;
      this.last = last;
    }

    private static Ports of(String name, String otherwise, boolean needed) {
      String ports = value(name, otherwise);
      if (!needed && ports.equals(NONE)) {
        return new Ports(0, -1);
      }
      Matcher matcher = PORTS.matcher(ports);
      int first = matcher.matches() ? Integer.parseInt(matcher.group(1)) : -1;
      int last = first < 0 || matcher.group(2) == null ? first : Integer.parseInt(matcher.group(2));
      if (first < 0 || last < first || last > MAX_PORT) {
        throw invalidRequest(
            "tensorflow.ignite.%s is '%s'. It is one port or a range FIRST..LAST within"
                + " 0..65535, 0 for any free port%s. Set the system property, or the"
                + " environment variable %s, of this node to a port or a range.",
            name, ports, needed ? "" : ", or none", variable(name));
      }
      return new Ports(first, last);
    }

    /** False for "none": the server does not listen. */
    boolean isAny() {
      return first <= last;
    }
  }
}
