package io.tensorflowignite.security.tls;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;

/** Why a node gets no TLS, with the node's name. */
final class Refusal {
  private final String node;

  Refusal(String node) {
    this.node = node;
  }

  TensorFlowIgniteException of(String what, String rule, String next) {
    return new TensorFlowIgniteException(
        ErrorCode.INVALID_REQUEST,
        "Node " + node + " has no usable TLS: " + what + ". " + rule + ". " + next + ".");
  }

  void checkDates(X509Certificate certificate, Object place) {
    try {
      certificate.checkValidity();
    } catch (CertificateException e) {
      throw of(
          String.format(
              "the certificate %s (%s) is valid from %s to %s, and now it is %s",
              place,
              certificate.getSubjectX500Principal(),
              certificate.getNotBefore().toInstant(),
              certificate.getNotAfter().toInstant(),
              java.time.Instant.now()),
          "A node shows no certificate outside of its time",
          "Renew it, or set this machine's clock");
    }
  }
}
