package io.tensorflowignite.memory;

import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * Lets only this host's processes name processes of this host. Who is elsewhere could otherwise
 * have rows laid into the memory of any reader here whose nonce has been overwritten by rows.
 */
public final class OwnHostOnly implements ServerInterceptor {
  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    SocketAddress remote = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    SocketAddress local = call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR);
    if (isOwn(remote, local)) {
      return next.startCall(call, headers);
    }
    TensorFlowIgniteException refused =
        new TensorFlowIgniteException(
            ErrorCode.SHARING_UNAVAILABLE,
            String.format(
                "this node shares no memory with %s: the connection comes from another host; client"
                    + " and node must run on one; use the network (of a dataset:"
                    + " transport=\"flight\")",
                remote));
    call.close(
        Status.FAILED_PRECONDITION.withDescription(refused.description()).withCause(refused),
        new Metadata());
    return new ServerCall.Listener<Q>() {};
  }

  /** A host that connects to one of its own addresses does so from the same one. */
  static boolean isOwn(SocketAddress remote, SocketAddress local) {
    if (!(remote instanceof InetSocketAddress) || !(local instanceof InetSocketAddress)) {
      return false;
    }
    InetAddress from = ((InetSocketAddress) remote).getAddress();
    InetAddress to = ((InetSocketAddress) local).getAddress();
    return from != null && (from.isLoopbackAddress() || from.equals(to));
  }
}
