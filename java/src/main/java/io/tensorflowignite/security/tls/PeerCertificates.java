package io.tensorflowignite.security.tls;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.security.PeerCertificate;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** Puts the caller's certificate into the context of its calls. */
public final class PeerCertificates implements ServerInterceptor {
  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    X509Certificate shown = shown(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
    return shown == null
        ? next.startCall(call, headers)
        : Contexts.interceptCall(
            Context.current().withValue(PeerCertificate.KEY, shown), call, headers, next);
  }

  private static X509Certificate shown(SSLSession session) {
    try {
      Certificate[] chain = session == null ? new Certificate[0] : session.getPeerCertificates();
      return chain.length > 0 && chain[0] instanceof X509Certificate
          ? (X509Certificate) chain[0]
          : null;
    } catch (SSLPeerUnverifiedException none) {
      return null;
    }
  }
}
