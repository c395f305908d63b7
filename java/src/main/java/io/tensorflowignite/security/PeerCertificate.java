package io.tensorflowignite.security;

import io.grpc.Context;
import java.security.cert.X509Certificate;

/** The certificate of a connection's other end, verified when the connection was made. */
public final class PeerCertificate {
  /** Without a value: the connection has no encryption, or its other end showed none. */
  public static final Context.Key<X509Certificate> KEY =
      Context.key("tensorflow-ignite-peer-certificate");

  private PeerCertificate() {}
}
