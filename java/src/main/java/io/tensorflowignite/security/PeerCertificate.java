package io.tensorflowignite.security;

import io.grpc.Context;
import java.security.cert.X509Certificate;

/** The client's certificate of a connection, which the TLS handshake has verified. */
public final class PeerCertificate {
  /** No value: the connection is not encrypted, or the client has no certificate. */
  public static final Context.Key<X509Certificate> KEY =
      Context.key("tensorflow-ignite-peer-certificate");

  private PeerCertificate() {}
}
