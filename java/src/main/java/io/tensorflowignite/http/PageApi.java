package io.tensorflowignite.http;

import static com.google.common.util.concurrent.Futures.transform;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.MetricsServiceGrpc;
import io.tensorflowignite.v1.ModelServiceGrpc;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The calls of the page: {@code POST /api/METHOD} with the request of a method of gRPC as JSON. The
 * answer is its response as JSON; of a method with several responses, each is a line. Only methods
 * that read, and the end of a job.
 */
final class PageApi {
  static final String PREFIX = "/api/";

  private static final long TIMEOUT_S = 30;

  private static final Map<String, MethodDescriptor<?, ?>> METHODS =
      Stream.of(
              NodeApiServiceGrpc.getListJobsMethod(),
              NodeApiServiceGrpc.getGetJobMethod(),
              NodeApiServiceGrpc.getWatchJobMethod(),
              NodeApiServiceGrpc.getStreamLogsMethod(),
              NodeApiServiceGrpc.getStopJobMethod(),
              NodeApiServiceGrpc.getListNodesMethod(),
              ModelServiceGrpc.getListDeploymentsMethod(),
              MetricsServiceGrpc.getGetMetricsMethod(),
              FileServiceGrpc.getGetFileMethod(),
              FileServiceGrpc.getListDirectoryMethod(),
              FileServiceGrpc.getReadBlocksMethod())
          .collect(
              Collectors.toMap(
                  MethodDescriptor::getBareMethodName,
                  method -> method,
                  (one, other) -> {
                    throw new IllegalStateException(one + " and " + other);
                  },
                  TreeMap::new));

  private static final JsonFormat.Parser PARSER = JsonFormat.parser();
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().preservingProtoFieldNames().omittingInsignificantWhitespace();

  private final Channel services;
  private final Executor executor;

  /**
   * @param services answers the calls, and those with one response on the caller's thread
   * @param executor asks for the next response of a stream
   */
  PageApi(Channel services, Executor executor) {
    this.services = services;
    this.executor = executor;
  }

  /**
   * The method that a path names.
   *
   * @throws RefusedException there is no such method for the page
   */
  static MethodDescriptor<?, ?> method(String path) {
    MethodDescriptor<?, ?> found = METHODS.get(path.substring(PREFIX.length()));
    if (found == null) {
      throw new RefusedException(
          404,
          String.format(
              "The page has no method '%.100s'. Its methods are %s. Use the gRPC port of the node"
                  + " for all others",
              path.substring(PREFIX.length()), String.join(", ", METHODS.keySet())));
    }
    return found;
  }

  /**
   * Makes a call with one response; fails with a status of gRPC. The response becomes JSON on this
   * thread: responses that wait for a thread would fill the heap.
   */
  ListenableFuture<HttpAnswer> answer(
      MethodDescriptor<?, ?> method, byte[] body, Metadata credentials) {
    return transform(
        unary(method, body, credentials),
        response -> HttpAnswer.json(json((Message) response)),
        MoreExecutors.directExecutor());
  }

  private <Q, R> ListenableFuture<R> unary(
      MethodDescriptor<Q, R> method, byte[] body, Metadata credentials) {
    Channel channel =
        ClientInterceptors.intercept(
            services, MetadataUtils.newAttachHeadersInterceptor(credentials));
    return ClientCalls.futureUnaryCall(
        channel.newCall(method, CallOptions.DEFAULT.withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)),
        request(method, body));
  }

  /** Makes a call with several responses, which a stream sends. */
  <Q, R> void send(
      MethodDescriptor<Q, R> method, byte[] body, Metadata credentials, JsonStream stream) {
    stream.send(
        services.newCall(method, CallOptions.DEFAULT),
        request(method, body),
        credentials,
        executor);
  }

  /** All requests and responses are messages of protobuf. */
  @SuppressWarnings("unchecked")
  private static <Q> Q request(MethodDescriptor<Q, ?> method, byte[] body) {
    PrototypeMarshaller<Q> marshaller = (PrototypeMarshaller<Q>) method.getRequestMarshaller();
    Message.Builder request = ((Message) marshaller.getMessagePrototype()).newBuilderForType();
    try {
      PARSER.merge(new String(body, StandardCharsets.UTF_8), request);
    } catch (InvalidProtocolBufferException e) {
      throw new RefusedException(
          400,
          String.format(
              "The body is no %s as JSON: %s. Its fields are those of the message in proto/",
              request.getDescriptorForType().getName(), e.getMessage()));
    }
    return (Q) request.build();
  }

  static String json(Message message) {
    try {
      return PRINTER.print(message);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }
}
