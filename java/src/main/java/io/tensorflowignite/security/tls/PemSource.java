package io.tensorflowignite.security.tls;

import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import io.grpc.util.AdvancedTlsX509TrustManager.Verification;
import io.grpc.util.CertificateUtils;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;

/** PEM files of one node. */
final class PemSource implements CertificateSource {
  private static final String CERTIFICATE = "tensorflow.ignite.tls.certificate";
  private static final String KEY = "tensorflow.ignite.tls.key";
  private static final String AUTHORITIES = "tensorflow.ignite.tls.ca";

  private final PemFiles files;
  private final TlsErrors errors;

  PemSource(PemFiles files, boolean clientCertificates, TlsErrors errors) {
    this.files = files;
    this.errors = errors;
    if (files.certificate == null || files.key == null) {
      throw errors.of(
          (files.certificate == null ? CERTIFICATE : KEY) + " is not set",
          CERTIFICATE + " and " + KEY + " name the two files of one pair",
          "Set both, or neither and no " + AUTHORITIES);
    }
    if (clientCertificates && files.authorities == null) {
      throw errors.of(
          AUTHORITIES + " is not set",
          "With TensorFlowService.security.clientCertificates 'required' it names the file with the"
              + " CA certificates that verify callers",
          "Set " + AUTHORITIES);
    }
  }

  @Override
  public SSLContext read() {
    return context(null);
  }

  /** A context for connections between nodes, in which each end must present a certificate. */
  SSLContext readBetweenNodes() {
    if (files.authorities == null) {
      throw errors.of(
          AUTHORITIES + " is not set",
          "Nodes accept each other by certificates of the CA in this file",
          "Set " + AUTHORITIES + ", or TENSORFLOW_IGNITE_TLS_CA");
    }
    return context(new NodePeerVerifier());
  }

  private SSLContext context(NodePeerVerifier peers) {
    List<X509Certificate> chain = certificates(CERTIFICATE, files.certificate);
    PrivateKey key = key();
    errors.checkDates(chain.get(0), files.certificate);
    checkPair(key, chain.get(0));
    AdvancedTlsX509KeyManager identity = new AdvancedTlsX509KeyManager();
    identity.updateIdentityCredentials(chain.toArray(new X509Certificate[0]), key);
    try {
      TrustManager[] trust = null;
      if (files.authorities != null) {
        AdvancedTlsX509TrustManager authorities =
            AdvancedTlsX509TrustManager.newBuilder()
                .setVerification(Verification.CERTIFICATE_ONLY_VERIFICATION)
                .setSslSocketAndEnginePeerVerifier(peers)
                .build();
        authorities.updateTrustCredentials(
            certificates(AUTHORITIES, files.authorities).toArray(new X509Certificate[0]));
        trust = new TrustManager[] {authorities};
      }
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(new KeyManager[] {identity}, trust, null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw errors.of(
          "Java cannot use " + this + ": " + e.getMessage(),
          "Certificates are X.509, keys RSA or EC",
          "Create certificate and key again");
    }
  }

  @Override
  public List<Path> files() {
    return Stream.of(files.certificate, files.key, files.authorities)
        .filter(Objects::nonNull)
        .collect(Collectors.toList());
  }

  @Override
  public List<X509Certificate> authorities() {
    if (files.authorities != null) {
      return certificates(AUTHORITIES, files.authorities);
    }
    List<X509Certificate> chain = certificates(CERTIFICATE, files.certificate);
    X509Certificate last = chain.get(chain.size() - 1);
    boolean selfSigned = last.getSubjectX500Principal().equals(last.getIssuerX500Principal());
    return selfSigned ? Collections.singletonList(last) : Collections.emptyList();
  }

  @Override
  public String toString() {
    return files.certificate.toString();
  }

  private List<X509Certificate> certificates(String setting, Path file) {
    String rule = setting + " names a file of one or more certificates in PEM";
    try (InputStream bytes = Files.newInputStream(file)) {
      X509Certificate[] found = CertificateUtils.getX509Certificates(bytes);
      if (found.length == 0) {
        throw errors.of(file + " holds no certificate", rule, "Write one there");
      }
      return Arrays.asList(found);
    } catch (CertificateException e) {
      throw errors.of(file + " holds no certificate that Java can read", rule, "Write one there");
    } catch (IOException e) {
      throw unreadable(file, rule, e);
    }
  }

  /** Errors have no cause, which could quote the key. */
  private PrivateKey key() {
    String rule =
        KEY
            + " names a file of one RSA or EC key in PEM, PKCS#8 (BEGIN PRIVATE KEY), not"
            + " encrypted";
    try (InputStream bytes = Files.newInputStream(files.key)) {
      return CertificateUtils.getPrivateKey(bytes);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw errors.of(
          files.key + " holds no such key",
          rule,
          "Convert it: openssl pkcs8 -topk8 -nocrypt -in KEY -out " + files.key);
    } catch (IOException e) {
      throw unreadable(files.key, rule, e);
    }
  }

  private RuntimeException unreadable(Path file, String rule, IOException e) {
    return errors.of(
        file + " cannot be read (" + e.getClass().getSimpleName() + ")",
        rule,
        "Put the file there, readable by the user of the node's process");
  }

  private void checkPair(PrivateKey key, X509Certificate certificate) {
    boolean fits;
    try {
      String algorithm = key.getAlgorithm().equals("EC") ? "SHA256withECDSA" : "SHA256withRSA";
      Signature signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      byte[] signed = signature.sign();
      signature.initVerify(certificate.getPublicKey());
      fits = signature.verify(signed);
    } catch (GeneralSecurityException e) {
      fits = false;
    }
    if (!fits) {
      throw errors.of(
          "The key " + files.key + " does not match the certificate " + files.certificate,
          "The key must belong to the first certificate of the file",
          "Set " + CERTIFICATE + " and " + KEY + " to a certificate and its key");
    }
  }
}
