package io.tensorflowignite.node;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;

import com.google.common.net.HostAndPort;
import com.google.protobuf.util.Timestamps;
import io.grpc.Status;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.baseline.Baseline;
import io.tensorflowignite.http.HealthCheck;
import io.tensorflowignite.http.HttpApi;
import io.tensorflowignite.http.NodeHealth;
import io.tensorflowignite.ignite.LocalNode;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.rpc.InProcessApi;
import io.tensorflowignite.rpc.RejectingServer;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.v1.MissingNode;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The node API of a node whose cluster is not active: Ignite deploys no services there. It answers
 * every call with the reason, on the ports that the node API and HTTP have later. The node is live,
 * and not ready.
 */
public final class InactiveApi {
  private static final String KEY = "tensorflow-ignite-inactive-api";

  private final Ignite ignite;
  private final IgniteLogger log;
  private NodeTls tls;
  private RejectingServer server;
  private HttpApi http;
  private String since = "";
  private boolean named;
  private String host;

  private InactiveApi(Ignite ignite) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(InactiveApi.class);
  }

  public static InactiveApi of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, InactiveApi>nodeLocalMap()
        .computeIfAbsent(KEY, key -> new InactiveApi(ignite));
  }

  /** Serves, if the cluster is not active, until {@link #close}. */
  public synchronized void open(ClusterSettings settings) {
    if (server != null || LocalNode.isStopping(ignite) || LocalNode.isActive(ignite)) {
      return;
    }
    since = Timestamps.toString(Timestamps.fromSeconds(System.currentTimeMillis() / 1000));
    try {
      NodeSettings local = NodeSettings.of(ignite);
      // Callers cannot be authenticated yet.
      named = local.isLoopback() || settings.security.allowsUnauthenticated();
      host = local.advertisedHost(ignite);
      tls = local.tls(ignite, settings.tls, Loops.of(ignite), log);
      server =
          RejectingServer.start(
              local.host, local.ports.first, local.ports.last, tls.context(), this::status);
      if (local.httpPorts.isAny()) {
        http =
            NodeHttp.open(
                ignite,
                local,
                settings,
                tls,
                // In HTTP an unavailable service is 503, and a failed precondition is 400.
                InProcessApi.rejecting(
                    () -> Status.UNAVAILABLE.withDescription(status().getDescription())),
                new Inactive(),
                named,
                log);
      }
      log.warning(error(true).getMessage() + " [address=" + address() + "]");
    } catch (IOException | RuntimeException e) {
      log.warning("The node cannot answer while its cluster is not active", e);
      close();
    }
  }

  /** host:port while it serves; else null. */
  public synchronized String address() {
    return server == null ? null : HostAndPort.fromParts(host, server.port()).toString();
  }

  public synchronized void close() {
    if (http != null) {
      http.close();
      http = null;
    }
    if (server != null) {
      server.close();
      server = null;
    }
    if (tls != null) {
      try {
        tls.close();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (IOException e) {
        log.warning("The certificates of the node could not be closed", e);
      }
      tls = null;
    }
  }

  private final class Inactive implements NodeHealth {
    @Override
    public List<HealthCheck> live() {
      return NodeChecks.live(ignite);
    }

    @Override
    public List<HealthCheck> ready() {
      return List.of(new HealthCheck("cluster", false, error(false).getMessage()));
    }
  }

  private Status status() {
    return ErrorStatuses.of(error(named));
  }

  private TensorFlowIgniteException error(boolean withNames) {
    List<MissingNode> missing = Baseline.missing(ignite);
    int size = Baseline.size(ignite);
    String names = missing.stream().map(Baseline::text).collect(Collectors.joining(", "));
    String without =
        missing.isEmpty()
            ? ""
            : ", without " + (withNames ? names : "those that the log of this node names");
    return TensorFlowIgniteException.of(
        ERROR_CODE_CLUSTER_NOT_ACTIVE,
        "The cluster is not active since %s: %s%s. %s. %s",
        since,
        size == 0
            ? "it was never activated"
            : (size - missing.size()) + " of the " + size + " nodes of its baseline are here",
        without,
        "Jobs, rows and files need an active cluster; one with data on disk becomes active by"
            + " itself when all nodes of its baseline are here",
        (missing.isEmpty() ? "Activate it: " : "Start the missing nodes, or go on without them: ")
            + "control.sh --set-state ACTIVE; where Ignite's ports for clients are closed, start a"
            + " node again: tensorflow-ignite node --activate-at NODES");
  }
}
