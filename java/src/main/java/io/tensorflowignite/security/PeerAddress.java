package io.tensorflowignite.security;

import io.grpc.Context;
import java.net.InetSocketAddress;

/** The address of the client of another protocol, for which this process makes the call. */
public final class PeerAddress {
  public static final Context.Key<InetSocketAddress> KEY = Context.key("peer-address");

  private PeerAddress() {}
}
