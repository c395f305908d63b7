package io.tensorflowignite.security.tls;

import com.google.common.io.BaseEncoding;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.concurrent.atomic.AtomicLong;
import javax.security.auth.x500.X500Principal;
import org.apache.ignite.ssl.SslContextFactory;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** A test's CA, with its certificates in memory and in the files of nodes. */
public final class TestAuthority {
  private static final AtomicLong SERIALS = new AtomicLong();

  private final X500Principal name;
  private final KeyPair keys = keys("EC");
  private final X509Certificate certificate;

  public TestAuthority(String name) {
    this.name = new X500Principal("CN=" + name);
    certificate = sign(this.name, keys.getPublic(), Duration.ofDays(1), true, null);
  }

  /** Keys of algorithm RSA or EC. */
  public static KeyPair keys(String algorithm) {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance(algorithm);
      generator.initialize(algorithm.equals("RSA") ? 2048 : 256);
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  public X509Certificate certificate() {
    return certificate;
  }

  /**
   * A certificate for 127.0.0.1 and localhost.
   *
   * @param left until it ends; negative: it has ended
   */
  public X509Certificate sign(String subject, PublicKey key, Duration left) {
    return sign(new X500Principal("CN=" + subject), key, left, false, null);
  }

  /** A certificate that is limited to clients. */
  public X509Certificate signForClients(String subject, PublicKey key, Duration left) {
    return sign(
        new X500Principal("CN=" + subject), key, left, false, KeyPurposeId.id_kp_clientAuth);
  }

  private X509Certificate sign(
      X500Principal subject,
      PublicKey key,
      Duration left,
      boolean authority,
      KeyPurposeId purpose) {
    Instant end = Instant.now().plus(left);
    try {
      JcaX509v3CertificateBuilder builder =
          new JcaX509v3CertificateBuilder(
              name,
              BigInteger.valueOf(SERIALS.incrementAndGet()),
              Date.from(end.minus(Duration.ofDays(2))),
              Date.from(end),
              subject,
              key);
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(authority));
      builder.addExtension(
          Extension.subjectAlternativeName,
          false,
          new GeneralNames(
              new GeneralName[] {
                new GeneralName(GeneralName.iPAddress, "127.0.0.1"),
                new GeneralName(GeneralName.dNSName, "localhost")
              }));
      if (purpose != null) {
        builder.addExtension(Extension.extendedKeyUsage, false, new ExtendedKeyUsage(purpose));
      }
      return new JcaX509CertificateConverter()
          .getCertificate(
              builder.build(
                  new JcaContentSignerBuilder("SHA256withECDSA").build(keys.getPrivate())));
    } catch (CertIOException | OperatorCreationException | GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Replaces a file atomically. */
  public static void write(Path file, X509Certificate... certificates) throws Exception {
    StringBuilder text = new StringBuilder();
    for (X509Certificate certificate : certificates) {
      text.append(pem("CERTIFICATE", certificate.getEncoded()));
    }
    replace(file, text.toString().getBytes(StandardCharsets.US_ASCII));
  }

  public static void write(Path file, PrivateKey key) throws IOException {
    replace(file, pem("PRIVATE KEY", key.getEncoded()).getBytes(StandardCharsets.US_ASCII));
  }

  /** Writes a key store with a key and its certificate, or without a key a trust store. */
  public static void writeStore(
      Path file, String type, char[] password, PrivateKey key, X509Certificate certificate)
      throws Exception {
    KeyStore store = KeyStore.getInstance(type);
    store.load(null, password);
    if (key == null) {
      store.setCertificateEntry("authority", certificate);
    } else {
      store.setKeyEntry("node", key, password, new X509Certificate[] {certificate});
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    store.store(bytes, password);
    replace(file, bytes.toByteArray());
  }

  /** Ignite's factory with two stores of one password. */
  public static SslContextFactory factory(
      Path keyStore, String keyType, Path trustStore, String trustType, char[] password) {
    SslContextFactory factory = new SslContextFactory();
    factory.setKeyStoreType(keyType);
    factory.setKeyStoreFilePath(keyStore.toString());
    factory.setKeyStorePassword(password);
    factory.setTrustStoreType(trustType);
    factory.setTrustStoreFilePath(trustStore.toString());
    factory.setTrustStorePassword(password);
    return factory;
  }

  private static void replace(Path file, byte[] bytes) throws IOException {
    Path written = file.resolveSibling(file.getFileName() + ".new");
    Files.write(written, bytes);
    Files.move(written, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
  }

  private static String pem(String kind, byte[] der) {
    String text = BaseEncoding.base64().withSeparator("\n", 64).encode(der);
    return "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n";
  }
}
