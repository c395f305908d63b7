package io.tensorflowignite.security.tls;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.tensorflowignite.security.PeerAddress;
import io.tensorflowignite.security.PeerCertificate;
import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;

/**
 * The address of the client of another protocol, and the certificate that it has shown, which a
 * call within this process brings along. Only for services that nothing outside of the process can
 * call.
 */
public final class ForwardedCertificates implements ServerInterceptor {
  /** The certificate, DER encoded. */
  public static final Metadata.Key<byte[]> CERTIFICATE =
      Metadata.Key.of("peer-certificate-bin", Metadata.BINARY_BYTE_MARSHALLER);

  /** The address of the client: its host as a number, a blank, and its port. */
  public static final Metadata.Key<String> ADDRESS =
      Metadata.Key.of("peer-address", Metadata.ASCII_STRING_MARSHALLER);

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Context context = Context.current();
    String address = headers.get(ADDRESS);
    if (address != null) {
      String[] parts = address.split(" ");
      context =
          context.withValue(
              PeerAddress.KEY, new InetSocketAddress(parts[0], Integer.parseInt(parts[1])));
    }
    byte[] encoded = headers.get(CERTIFICATE);
    if (encoded != null) {
      try {
        context =
            context.withValue(
                PeerCertificate.KEY,
                (X509Certificate)
                    CertificateFactory.getInstance("X.509")
                        .generateCertificate(new ByteArrayInputStream(encoded)));
      } catch (CertificateException e) {
        call.close(
            Status.UNAUTHENTICATED.withDescription("The certificate of the client cannot be read."),
            new Metadata());
        return new ServerCall.Listener<Q>() {};
      }
    }
    return Contexts.interceptCall(context, call, headers, next);
  }
}
