package io.tensorflowignite.rpc;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SHARING_UNAVAILABLE;

import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * Rejects calls from other hosts to services that name processes of this host. Otherwise a remote
 * caller could have rows written into the memory of a local reader whose nonce rows have
 * overwritten.
 */
public final class LocalHostInterceptor implements ServerInterceptor {
  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    SocketAddress remote = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    SocketAddress local = call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR);
    if (isLocal(remote, local)) {
      return next.startCall(call, headers);
    }
    return ErrorStatuses.reject(
        call,
        ErrorStatuses.of(
            TensorFlowIgniteException.of(
                ERROR_CODE_SHARING_UNAVAILABLE,
                "This node cannot share memory with %s: the connection comes from another host."
                    + " Client and node must run on one host. Use the network (for a dataset:"
                    + " transport=\"flight\").",
                remote)));
  }

  /**
   * Whether both ends are on this host: a host connects to its own address from the same address.
   */
  public static boolean isLocal(SocketAddress remote, SocketAddress local) {
    if (!(remote instanceof InetSocketAddress) || !(local instanceof InetSocketAddress)) {
      return false;
    }
    InetAddress from = ((InetSocketAddress) remote).getAddress();
    InetAddress to = ((InetSocketAddress) local).getAddress();
    return from != null && (from.isLoopbackAddress() || from.equals(to));
  }
}
