package io.tensorflowignite;

import io.tensorflowignite.security.tls.PemFiles;
import io.tensorflowignite.v1.ErrorCode;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collection;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;

/**
 * What differs from node to node. Ignite takes a bean's properties from one node for the whole
 * cluster, so these come from a system property {@code tensorflow.ignite.NAME} or else the
 * environment variable {@code TENSORFLOW_IGNITE_NAME}.
 */
final class NodeSettings {
  private static final Pattern PORTS = Pattern.compile("(\\d{1,5})(?:\\.\\.(\\d{1,5}))?");
  private static final int MAX_PORT = 65_535;

  final String python;
  final String host;
  final int firstPort;
  final int lastPort;
  final Path work;
  final PemFiles tls;

  private NodeSettings(
      String python, String host, int firstPort, int lastPort, Path work, PemFiles tls) {
    this.python = python;
    this.host = host;
    this.firstPort = firstPort;
    this.lastPort = lastPort;
    this.work = work;
    this.tls = tls;
  }

  static NodeSettings of(Ignite ignite) {
    String ports = value("port", "10820..10919");
    Matcher matcher = PORTS.matcher(ports);
    int first = matcher.matches() ? Integer.parseInt(matcher.group(1)) : -1;
    int last = first < 0 || matcher.group(2) == null ? first : Integer.parseInt(matcher.group(2));
    if (first < 0 || last < first || last > MAX_PORT) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          "tensorflow.ignite.port is '"
              + ports
              + "'. It is one port or a range FIRST..LAST within 0..65535, 0 for any free port."
              + " Correct the system property or the environment variable TENSORFLOW_IGNITE_PORT of"
              + " this node.");
    }
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
        first,
        last,
        directory.toAbsolutePath(),
        new PemFiles(file("tls.certificate"), file("tls.key"), file("tls.ca")));
  }

  /** Whether only this host reaches the API. */
  boolean isLoopback() {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      throw unknownHost(e);
    }
  }

  /** The address by which other nodes reach this one. */
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
        ErrorCode.INVALID_REQUEST,
        "tensorflow.ignite.host is '"
            + host
            + "', which this host cannot resolve. It is the address that the node API binds."
            + " Correct the system property or the environment variable TENSORFLOW_IGNITE_HOST of"
            + " this node.",
        cause);
  }

  /** Null: it is not set. */
  private static Path file(String name) {
    String path = value(name, "");
    return path.isEmpty() ? null : Paths.get(path).toAbsolutePath();
  }

  private static String value(String name, String otherwise) {
    String property = System.getProperty("tensorflow.ignite." + name);
    String environment =
        System.getenv("TENSORFLOW_IGNITE_" + name.toUpperCase(Locale.ROOT).replace('.', '_'));
    return property != null ? property : environment != null ? environment : otherwise;
  }

  /**
   * The same after a restart of the node, so that its next agent finds what the last one may have
   * left.
   */
  private static String directoryName(Ignite ignite) {
    return String.valueOf(ignite.cluster().localNode().consistentId())
        .replaceAll("[^A-Za-z0-9.-]", "_");
  }
}
