package io.tensorflowignite.http;

import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.rpc.InProcessApi;
import java.util.List;
import java.util.Optional;
import org.apache.ignite.logger.NullLogger;

/** An HTTP port without a node, before services that a test makes. */
final class TestPort {
  /** A name by which a browser may call the port. */
  static final String HOST = "node-1.example";

  /** The header of the present call that names its caller, or "none". */
  static final Context.Key<String> CALLER = Context.key("caller");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private TestPort() {}

  /**
   * @param port 0: any free one
   */
  static HttpApi start(
      int port, BodyMemory bodies, NodeHealth health, BindableService... services) {
    return HttpApi.start(
        "127.0.0.1",
        port,
        port,
        Optional.empty(),
        false,
        bodies,
        services(services),
        health,
        HOST::equals,
        new NullLogger());
  }

  static InProcessApi services(BindableService... services) {
    return InProcessApi.start(new NullLogger(), List.of(new Callers()), List.of(services));
  }

  /** Knows the caller, as Authentication does. */
  private static final class Callers implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      String caller = headers.get(AUTHORIZATION);
      return Contexts.interceptCall(
          Context.current().withValue(CALLER, caller == null ? "none" : caller),
          call,
          headers,
          next);
    }
  }
}
