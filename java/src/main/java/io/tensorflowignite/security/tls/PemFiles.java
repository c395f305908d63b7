package io.tensorflowignite.security.tls;

import java.nio.file.Path;

/** A node's own PEM files; each is null where the node has none. */
public final class PemFiles {
  final Path certificate;
  final Path key;
  final Path authorities;

  /**
   * @param certificate the node's certificate, and those between it and its authority
   * @param key its key
   * @param authorities whose certificates callers are believed
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
