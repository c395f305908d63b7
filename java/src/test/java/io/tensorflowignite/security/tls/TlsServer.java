package io.tensorflowignite.security.tls;

import io.grpc.ManagedChannel;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.netty.handler.ssl.SslContextBuilder;
import io.tensorflowignite.rpc.ApiServer;
import io.tensorflowignite.security.PeerCertificate;
import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.ListNodesResponse;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import java.net.Socket;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.apache.ignite.IgniteLogger;

/**
 * The server of a node, without a node: its only call returns the name in the caller's certificate.
 */
final class TlsServer implements AutoCloseable {
  static final String NOBODY = "nobody";
  private static final int TIMEOUT_S = 20;

  private final NodeTls tls;
  private final ApiServer server;

  TlsServer(NodeTls tls, IgniteLogger log) {
    this.tls = tls;
    server =
        ApiServer.start(
            "127.0.0.1",
            0,
            0,
            BatchLimits.DEFAULT,
            log,
            tls.context(),
            Collections.singletonList(new PeerCertificates()),
            Collections.singletonList(new Names()));
  }

  int port() {
    return server.port();
  }

  /** The session of a new connection of the JDK's client. */
  SSLSession handshake(X509Certificate trusted, String protocol) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    store.setCertificateEntry("authority", trusted);
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    try (Socket plain = new Socket("127.0.0.1", port());
        SSLSocket socket =
            (SSLSocket) context.getSocketFactory().createSocket(plain, "127.0.0.1", port(), true)) {
      socket.setSoTimeout(TIMEOUT_S * 1000);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setProtocols(new String[] {protocol});
      parameters.setApplicationProtocols(new String[] {"h2"});
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      return socket.getSession();
    }
  }

  /** The server's certificate on a new connection. */
  X509Certificate shown(TestAuthority authority) throws Exception {
    return (X509Certificate) handshake(authority.certificate(), "TLSv1.3").getPeerCertificates()[0];
  }

  /** A channel with the caller's certificate; null: without one. */
  ManagedChannel channel(TestAuthority trusted, PrivateKey key, X509Certificate certificate)
      throws Exception {
    SslContextBuilder context = GrpcSslContexts.forClient().trustManager(trusted.certificate());
    if (key != null) {
      // Sends the certificate for any CA that the server names; Java's own manager would not.
      AdvancedTlsX509KeyManager own = new AdvancedTlsX509KeyManager();
      own.updateIdentityCredentials(new X509Certificate[] {certificate}, key);
      context.keyManager(own);
    }
    return NettyChannelBuilder.forAddress("127.0.0.1", port()).sslContext(context.build()).build();
  }

  /** The name that the server returns on a channel. */
  static String name(ManagedChannel channel) {
    return NodeApiServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)
        .listNodes(ListNodesRequest.getDefaultInstance())
        .getNodes(0)
        .getId();
  }

  /** The name that the server returns on a new connection. */
  String name(TestAuthority trusted, PrivateKey key, X509Certificate certificate) throws Exception {
    ManagedChannel channel = channel(trusted, key, certificate);
    try {
      return name(channel);
    } finally {
      channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    }
  }

  @Override
  public void close() throws Exception {
    server.close();
    tls.close();
  }

  private static final class Names extends NodeApiServiceGrpc.NodeApiServiceImplBase {
    @Override
    public void listNodes(ListNodesRequest request, StreamObserver<ListNodesResponse> response) {
      X509Certificate certificate = PeerCertificate.KEY.get();
      String name = certificate == null ? NOBODY : certificate.getSubjectX500Principal().getName();
      response.onNext(
          ListNodesResponse.newBuilder().addNodes(Node.newBuilder().setId(name)).build());
      response.onCompleted();
    }
  }
}
