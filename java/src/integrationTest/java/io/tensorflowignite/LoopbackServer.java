package io.tensorflowignite;

import io.grpc.BindableService;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.api.ApiServer;
import io.tensorflowignite.security.tls.NodeTls;
import java.util.List;
import org.apache.ignite.IgniteLogger;

/** A node's server on any free port of loopback, without TLS. */
public final class LoopbackServer {
  private LoopbackServer() {}

  /**
   * @param interceptors what every call passes
   */
  public static ApiServer start(
      IgniteLogger log,
      List<ServerInterceptor> interceptors,
      List<? extends BindableService> services) {
    return ApiServer.start(
        "127.0.0.1", 0, 0, BatchLimits.DEFAULT, log, NodeTls.off(), interceptors, services);
  }
}
