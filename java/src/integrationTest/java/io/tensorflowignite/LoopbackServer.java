package io.tensorflowignite;

import io.grpc.BindableService;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.rpc.ApiServer;
import io.tensorflowignite.settings.BatchLimits;
import java.util.List;
import java.util.Optional;
import org.apache.ignite.IgniteLogger;

/** A node's server on a free port of loopback, without TLS. */
public final class LoopbackServer {
  private LoopbackServer() {}

  /**
   * @param interceptors interceptors of every call
   */
  public static ApiServer start(
      IgniteLogger log,
      List<ServerInterceptor> interceptors,
      List<? extends BindableService> services) {
    return ApiServer.start(
        "127.0.0.1", 0, 0, BatchLimits.DEFAULT, log, Optional.empty(), interceptors, services);
  }
}
