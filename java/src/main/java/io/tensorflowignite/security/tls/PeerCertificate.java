package io.tensorflowignite.security.tls;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.Optional;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** The certificate that a caller has shown, verified when its connection was made. */
public final class PeerCertificate {
  /** Without a value where the caller has shown none. */
  public static final Context.Key<X509Certificate> KEY = Context.key("peer-certificate");

  private PeerCertificate() {}

  /** Of the call that the current thread works for. */
  public static Optional<X509Certificate> current() {
    return Optional.ofNullable(KEY.get());
  }

  /** Puts it into each call's context. */
  public static ServerInterceptor interceptor() {
    return new ServerInterceptor() {
      @Override
      public <Q, R> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        X509Certificate shown = shown(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
        return shown == null
            ? next.startCall(call, headers)
            : Contexts.interceptCall(Context.current().withValue(KEY, shown), call, headers, next);
      }
    };
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
