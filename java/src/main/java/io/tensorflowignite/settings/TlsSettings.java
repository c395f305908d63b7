package io.tensorflowignite.settings;

import java.io.Serializable;

/** The settings of TLS that are the same on every node. */
public final class TlsSettings implements Serializable {
  /** Whether connections to a node's server are encrypted. */
  public enum Mode {
    /** If the node has a certificate. */
    AUTO,
    /** Always: a node without a certificate does not start its service. */
    REQUIRED,
    /** Never. */
    OFF
  }

  private static final long serialVersionUID = 1L;

  public final Mode mode;

  /** Whether the server requests certificates of its callers, and verifies them. */
  public final boolean clientCertificates;

  public TlsSettings(Mode mode, boolean clientCertificates) {
    this.mode = mode;
    this.clientCertificates = clientCertificates;
  }
}
