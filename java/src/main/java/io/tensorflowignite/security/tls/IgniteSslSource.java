package io.tensorflowignite.security.tls;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.cache.configuration.Factory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import org.apache.ignite.IgniteException;
import org.apache.ignite.ssl.SslContextFactory;

/**
 * The factory of Ignite's configuration. The stores of Ignite's SslContextFactory are read again
 * when they change; any other factory is used unchanged.
 */
final class IgniteSslSource implements CertificateSource {
  private static final String SETTING = "IgniteConfiguration.sslContextFactory";

  private final Factory<SSLContext> factory;
  private final TlsErrors errors;

  IgniteSslSource(Factory<SSLContext> factory, boolean clientCertificates, TlsErrors errors) {
    this.factory = factory;
    this.errors = errors;
    if (clientCertificates && stores() != null && trustsEverybody(stores())) {
      throw errors.of(
          SETTING + " verifies no certificates",
          "With TensorFlowService.security.clientCertificates 'required' the certificates of"
              + " callers are verified with its trust store",
          "Configure a trust store instead of the disabled trust manager");
    }
  }

  @Override
  public SSLContext read() {
    SslContextFactory stores = stores();
    try {
      if (stores == null) {
        return factory.create();
      }
      checkDates(stores);
      checkTrust(stores);
      return copy(stores).create();
    } catch (IgniteException e) {
      throw unusable(e.getMessage());
    }
  }

  @Override
  public List<Path> files() {
    SslContextFactory stores = stores();
    return stores == null
        ? Collections.emptyList()
        : Stream.of(stores.getKeyStoreFilePath(), stores.getTrustStoreFilePath())
            .filter(Objects::nonNull)
            .map(Paths::get)
            .collect(Collectors.toList());
  }

  @Override
  public List<X509Certificate> authorities() {
    SslContextFactory stores = stores();
    if (stores == null || stores.getTrustStoreFilePath() == null) {
      return Collections.emptyList();
    }
    return entries(
        stores.getTrustStoreFilePath(),
        stores.getTrustStoreType(),
        stores.getTrustStorePassword(),
        KeyStore::isCertificateEntry);
  }

  @Override
  public String toString() {
    return stores() == null ? factory.getClass().getName() : stores().getKeyStoreFilePath();
  }

  /** Null for subclasses, which may have other sources of certificates. */
  private SslContextFactory stores() {
    return factory.getClass() == SslContextFactory.class ? (SslContextFactory) factory : null;
  }

  /** A new factory, since a factory always returns the first context that it has created. */
  private static SslContextFactory copy(SslContextFactory stores) {
    SslContextFactory copy = new SslContextFactory();
    copy.setProtocol(stores.getProtocol());
    copy.setProtocols(stores.getProtocols());
    copy.setCipherSuites(stores.getCipherSuites());
    copy.setKeyAlgorithm(stores.getKeyAlgorithm());
    copy.setKeyStoreType(stores.getKeyStoreType());
    copy.setKeyStoreFilePath(stores.getKeyStoreFilePath());
    copy.setKeyStorePassword(stores.getKeyStorePassword());
    copy.setTrustStoreType(stores.getTrustStoreType());
    copy.setTrustStoreFilePath(stores.getTrustStoreFilePath());
    copy.setTrustStorePassword(stores.getTrustStorePassword());
    copy.setTrustManagers(stores.getTrustManagers());
    return copy;
  }

  private static boolean trustsEverybody(SslContextFactory stores) {
    TrustManager[] managers = stores.getTrustManagers();
    return managers != null
        && Stream.of(managers)
            .anyMatch(
                manager ->
                    manager.getClass() == SslContextFactory.getDisabledTrustManager().getClass());
  }

  /** One valid certificate is enough: JSSE chooses among several. */
  private void checkDates(SslContextFactory stores) {
    List<X509Certificate> certificates =
        entries(
            stores.getKeyStoreFilePath(),
            stores.getKeyStoreType(),
            stores.getKeyStorePassword(),
            KeyStore::isKeyEntry);
    if (certificates.isEmpty()) {
      throw unusable("its key store " + stores.getKeyStoreFilePath() + " holds no key");
    }
    java.util.Date now = new java.util.Date();
    if (certificates.stream()
        .noneMatch(c -> !now.before(c.getNotBefore()) && !now.after(c.getNotAfter()))) {
      errors.checkDates(certificates.get(0), "in " + stores.getKeyStoreFilePath());
    }
  }

  /** Without trusted certificates every connection fails, with an error that names no store. */
  private void checkTrust(SslContextFactory stores) {
    String path = stores.getTrustStoreFilePath();
    if (stores.getTrustManagers() != null || path == null) {
      return;
    }
    String type = stores.getTrustStoreType();
    if (entries(path, type, stores.getTrustStorePassword(), (store, alias) -> true).isEmpty()) {
      throw errors.of(
          SETTING + ": its trust store " + path + " holds no certificate that Java trusts",
          "Java reads a PKCS12 file that 'openssl pkcs12 -export -nokeys' has made as empty",
          "Make the store with: keytool -importcert -noprompt -alias ca -file ca.pem -storetype "
              + type
              + " -keystore "
              + path);
    }
  }

  private interface Choice {
    boolean of(KeyStore store, String alias) throws GeneralSecurityException;
  }

  private List<X509Certificate> entries(String path, String type, char[] password, Choice choice) {
    try (InputStream bytes = Files.newInputStream(Paths.get(path))) {
      KeyStore store = KeyStore.getInstance(type);
      store.load(bytes, password);
      List<X509Certificate> found = new ArrayList<>();
      for (String alias : Collections.list(store.aliases())) {
        Certificate certificate = choice.of(store, alias) ? store.getCertificate(alias) : null;
        if (certificate instanceof X509Certificate) {
          found.add((X509Certificate) certificate);
        }
      }
      return found;
    } catch (IOException | GeneralSecurityException e) {
      throw unusable("its store " + path + " cannot be read (" + e.getMessage() + ")");
    }
  }

  private RuntimeException unusable(String reason) {
    return errors.of(
        SETTING + " creates no context: " + reason,
        "The node's server uses this factory if tensorflow.ignite.tls.certificate is not set and"
            + " TensorFlowService.security.tls is not 'off'",
        "Configure stores that exist, and their passwords");
  }
}
