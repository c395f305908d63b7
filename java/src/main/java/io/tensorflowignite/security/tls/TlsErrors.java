package io.tensorflowignite.security.tls;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;

/** Errors of a node's TLS, with the node's name. */
final class TlsErrors {
  private final String node;

  TlsErrors(String node) {
    this.node = node;
  }

  TensorFlowIgniteException of(String reason, String rule, String next) {
    return invalidRequest("Node %s has no usable TLS: %s. %s. %s.", node, reason, rule, next);
  }

  void checkDates(X509Certificate certificate, Object source) {
    try {
      certificate.checkValidity();
    } catch (CertificateException e) {
      throw of(
          String.format(
              "the certificate %s (%s) is valid from %s to %s, and now it is %s",
              source,
              certificate.getSubjectX500Principal(),
              certificate.getNotBefore().toInstant(),
              certificate.getNotAfter().toInstant(),
              java.time.Instant.now()),
          "A node uses only valid certificates",
          "Renew it, or set this machine's clock");
    }
  }
}
