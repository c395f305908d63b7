package io.tensorflowignite.security.tls;

import com.google.common.io.BaseEncoding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.util.List;

/**
 * The PEM file of CA certificates: a node's tasks use it to verify the nodes that they call. The
 * source may be a Java trust store.
 */
final class CaFile {
  private static final int LINE = 64;

  private final Path file;

  CaFile(Path file) {
    this.file = file;
  }

  /** Without CA certificates the file is removed, and tasks trust the machine's CA certificates. */
  void write(List<X509Certificate> authorities, TlsErrors errors) {
    try {
      if (authorities.isEmpty()) {
        remove();
        return;
      }
      StringBuilder text = new StringBuilder();
      for (X509Certificate authority : authorities) {
        text.append("-----BEGIN CERTIFICATE-----\n")
            .append(BaseEncoding.base64().withSeparator("\n", LINE).encode(authority.getEncoded()))
            .append("\n-----END CERTIFICATE-----\n");
      }
      Files.createDirectories(file.getParent());
      Path written = file.resolveSibling(file.getFileName() + ".new");
      Files.write(written, text.toString().getBytes(StandardCharsets.US_ASCII));
      Files.move(
          written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException | GeneralSecurityException e) {
      throw errors.of(
          file + " cannot be written (" + e + ")",
          "A node's tasks verify the nodes that they call with the certificates in this file",
          "Set tensorflow.ignite.work of this node to a writable directory");
    }
  }

  void remove() throws IOException {
    Files.deleteIfExists(file);
  }

  boolean exists() {
    return Files.exists(file);
  }

  @Override
  public String toString() {
    return file.toString();
  }
}
