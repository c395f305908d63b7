package io.tensorflowignite.security;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.common.io.ByteStreams;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Calls any method with one message and any credentials. */
final class RawCalls implements AutoCloseable {
  private static final long TIMEOUT_S = 60;
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;

  /** The messages and the status of a call. */
  static final class Answer {
    final String method;
    final Status status;
    final List<byte[]> messages;

    Answer(String method, Status status, List<byte[]> messages) {
      this.method = method;
      this.status = status;
      this.messages = messages;
    }

    void assertAnswered() {
      assertEquals(toString(), Status.Code.OK, status.getCode());
    }

    /** Returns the error's text; the call must have this status and code, and no messages. */
    String assertRefused(Status.Code code) {
      assertEquals(toString(), code, status.getCode());
      assertTrue(toString(), messages.isEmpty());
      String text = String.valueOf(status.getDescription());
      assertTrue(toString(), text.endsWith(" [code=" + code + "]"));
      return text;
    }

    @Override
    public String toString() {
      return method + ": " + status + ", " + messages.size() + " messages";
    }
  }

  RawCalls(String address) {
    channel = NettyChannelBuilder.forTarget(address).usePlaintext().build();
  }

  static String bearer(String token) {
    return "Bearer " + token;
  }

  static String basic(String user, String password) {
    byte[] pair = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(pair);
  }

  Answer call(String method, Message request, String... authorization) {
    ClientCall<byte[], byte[]> call =
        channel.newCall(
            MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                .setFullMethodName(method)
                .setRequestMarshaller(new Bytes())
                .setResponseMarshaller(new Bytes())
                .build(),
            CallOptions.DEFAULT.withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS));
    Metadata headers = new Metadata();
    for (String header : authorization) {
      headers.put(AUTHORIZATION, header);
    }
    List<byte[]> messages = new ArrayList<>();
    CompletableFuture<Status> end = new CompletableFuture<>();
    call.start(
        new ClientCall.Listener<byte[]>() {
          @Override
          public void onMessage(byte[] message) {
            messages.add(message);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        headers);
    call.request(Integer.MAX_VALUE);
    call.sendMessage(request.toByteArray());
    call.halfClose();
    try {
      return new Answer(method, end.get(TIMEOUT_S, TimeUnit.SECONDS), messages);
    } catch (InterruptedException | ExecutionException | TimeoutException e) {
      throw new AssertionError(method, e);
    }
  }

  @Override
  public void close() throws InterruptedException {
    assertTrue(channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return ByteStreams.toByteArray(stream);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
