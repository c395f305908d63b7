package io.tensorflowignite.security.tls;

import java.io.Serializable;

/** What of TLS is the same on every node. */
public final class TlsSettings implements Serializable {
  /** Whether connections to a node's server are encrypted. */
  public enum Mode {
    /** Where the node has a certificate. */
    AUTO,
    /** Always: a node without a certificate does not start its service. */
    REQUIRED,
    /** Never. */
    OFF
  }

  private static final long serialVersionUID = 1L;

  private final Mode mode;
  private final boolean clientCertificates;

  public TlsSettings(Mode mode, boolean clientCertificates) {
    this.mode = mode;
    this.clientCertificates = clientCertificates;
  }

  public Mode mode() {
    return mode;
  }

  /** Whether callers are asked for a certificate, which is verified when they have one. */
  public boolean clientCertificates() {
    return clientCertificates;
  }
}
