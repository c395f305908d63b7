package io.tensorflowignite.node;

import io.tensorflowignite.http.BodyMemory;
import io.tensorflowignite.http.HttpApi;
import io.tensorflowignite.http.NodeHealth;
import io.tensorflowignite.rpc.InProcessApi;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.settings.ClusterSettings;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/** Opens the HTTP port by the settings of a node. */
final class NodeHttp {
  /** The largest body of a request. */
  private static final long BODY_BYTES = 32 << 20;

  private NodeHttp() {}

  /**
   * Opens the port, which must be set.
   *
   * @param isOpen whether callers need no credentials: then a browser may use the node's own names
   *     only
   */
  static HttpApi open(
      Ignite ignite,
      NodeSettings local,
      ClusterSettings settings,
      NodeTls tls,
      InProcessApi services,
      NodeHealth health,
      boolean isOpen,
      IgniteLogger log) {
    Set<String> names = new HashSet<>(List.of(local.host, local.advertisedHost(ignite)));
    names.addAll(ignite.cluster().localNode().hostNames());
    Set<String> own =
        names.stream().map(name -> name.toLowerCase(Locale.ROOT)).collect(Collectors.toSet());
    return HttpApi.start(
        local.host,
        local.httpPorts.first,
        local.httpPorts.last,
        tls.httpContext(),
        settings.tls.clientCertificates,
        new BodyMemory(BODY_BYTES, Runtime.getRuntime().maxMemory()),
        services,
        health,
        name -> !isOpen || own.contains(name),
        log);
  }
}
