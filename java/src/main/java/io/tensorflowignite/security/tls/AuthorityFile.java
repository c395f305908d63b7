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
 * By what a node's tasks verify the nodes that they call, in PEM: where it comes from may be a
 * store of Java's.
 */
final class AuthorityFile {
  private static final int LINE = 64;

  private final Path file;

  AuthorityFile(Path file) {
    this.file = file;
  }

  /** Without authorities there is no such file: the machine's own then count. */
  void write(List<X509Certificate> authorities, Refusal refusal) {
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
      throw refusal.of(
          file + " cannot be written (" + e + ")",
          "A node's tasks verify the nodes that they call by the certificates in this file",
          "Name a directory that can be written as tensorflow.ignite.work of this node");
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
