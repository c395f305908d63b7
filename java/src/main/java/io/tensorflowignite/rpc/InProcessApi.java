package io.tensorflowignite.rpc;

import io.grpc.BindableService;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.tensorflowignite.base.RateLimitedLog;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.ignite.IgniteLogger;

/**
 * Services of this node for calls from within the process. These calls pass the same interceptors
 * as calls from outside, so other protocols than gRPC need no authentication and permissions of
 * their own.
 */
public final class InProcessApi implements AutoCloseable {
  private final Server server;
  private final ManagedChannel channel;

  private InProcessApi(Server server, ManagedChannel channel) {
    this.server = server;
    this.channel = channel;
  }

  /**
   * Starts the services. Methods and their callbacks run on the threads of their callers.
   *
   * @param interceptors the interceptors of every call, in the order of their calls
   */
  public static InProcessApi start(
      IgniteLogger log,
      List<ServerInterceptor> interceptors,
      List<? extends BindableService> services) {
    List<ServerInterceptor> all = new ArrayList<>(List.of(errors(log)));
    all.addAll(interceptors);
    String name = InProcessServerBuilder.generateName();
    InProcessServerBuilder builder = InProcessServerBuilder.forName(name);
    for (BindableService service : services) {
      builder.addService(ServerInterceptors.interceptForward(service, all));
    }
    return start(name, builder);
  }

  /**
   * Rejects every call, for a node that cannot serve yet.
   *
   * @param reason called for each call
   */
  public static InProcessApi rejecting(Supplier<Status> reason) {
    String name = InProcessServerBuilder.generateName();
    return start(
        name, InProcessServerBuilder.forName(name).fallbackHandlerRegistry(new Rejection(reason)));
  }

  private static InProcessApi start(String name, InProcessServerBuilder builder) {
    try {
      return new InProcessApi(
          // For ResponseMemory, all these calls are of one connection.
          builder.directExecutor().addTransportFilter(new ConnectionTracker()).build().start(),
          InProcessChannelBuilder.forName(name)
              .directExecutor()
              .maxInboundMessageSize(Integer.MAX_VALUE)
              .build());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Calls the services. */
  public Channel channel() {
    return channel;
  }

  private static ServerInterceptor errors(IgniteLogger log) {
    return new ErrorInterceptor(new RateLimitedLog(log));
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.shutdownNow();
  }
}
