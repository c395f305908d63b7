package io.tensorflowignite.security.tls;

import io.grpc.util.AdvancedTlsX509TrustManager.SslSocketAndEnginePeerVerifier;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLEngine;

/**
 * Rejects a peer whose certificate is limited to clients: the CA of the nodes may also sign
 * certificates of users, and every process that joins as a node controls the cluster.
 */
final class NodePeerVerifier implements SslSocketAndEnginePeerVerifier {
  private static final String SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

  @Override
  public void verifyPeerCertificate(X509Certificate[] chain, String authType, Socket socket)
      throws CertificateException {
    verify(chain[0]);
  }

  @Override
  public void verifyPeerCertificate(X509Certificate[] chain, String authType, SSLEngine engine)
      throws CertificateException {
    verify(chain[0]);
  }

  private static void verify(X509Certificate peer) throws CertificateException {
    List<String> usage = peer.getExtendedKeyUsage();
    if (usage != null && !usage.contains(SERVER_AUTH)) {
      throw new CertificateException(
          "The certificate "
              + peer.getSubjectX500Principal()
              + " is for clients only. A node's certificate has the extended key usage serverAuth"
              + " and clientAuth. Sign a certificate for the node with both.");
    }
  }
}
