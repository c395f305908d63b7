package io.tensorflowignite.rpc;

import io.grpc.HandlerRegistry;
import io.grpc.MethodDescriptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.function.Supplier;

/** Knows every method, reads no request, and rejects the call. */
final class Rejection extends HandlerRegistry {
  private final Supplier<Status> reason;

  Rejection(Supplier<Status> reason) {
    this.reason = reason;
  }

  @Override
  public ServerMethodDefinition<?, ?> lookupMethod(String method, String authority) {
    return ServerMethodDefinition.create(
        MethodDescriptor.newBuilder(new Unread(), new Unread())
            .setType(MethodDescriptor.MethodType.UNKNOWN)
            .setFullMethodName(method)
            .build(),
        (call, headers) -> ErrorStatuses.reject(call, reason.get()));
  }

  private static final class Unread implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      return new byte[0];
    }
  }
}
