package io.tensorflowignite.security.tls;

import java.nio.file.Path;

/** The PEM files of a node; null: not configured. */
public final class PemFiles {
  final Path certificate;
  final Path key;
  final Path authorities;

  /**
   * @param certificate the node's certificate, and the intermediate certificates up to its CA
   * @param key the certificate's key
   * @param authorities the CA certificates that verify callers
   */
  public PemFiles(Path certificate, Path key, Path authorities) {
    this.certificate = certificate;
    this.key = key;
    this.authorities = authorities;
  }

  boolean isEmpty() {
    return certificate == null && key == null && authorities == null;
  }
}
