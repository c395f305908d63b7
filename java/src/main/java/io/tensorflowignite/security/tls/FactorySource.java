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
 * Ignite's own setting. Of Ignite's own factory the stores are known, and read again when they
 * change; of any other one only what it makes.
 */
final class FactorySource implements CertificateSource {
  private static final String SETTING = "IgniteConfiguration.sslContextFactory";

  private final Factory<SSLContext> factory;
  private final Refusal refusal;

  FactorySource(Factory<SSLContext> factory, boolean clientCertificates, Refusal refusal) {
    this.factory = factory;
    this.refusal = refusal;
    if (clientCertificates && stores() != null && believesAnybody(stores())) {
      throw refusal.of(
          SETTING + " verifies nobody's certificate",
          "With TensorFlowService.clientCertificates 'required' callers' certificates are verified"
              + " against its trust store",
          "Give it a trust store instead of the disabled trust manager");
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

  /** Subclasses may take their certificates from elsewhere. */
  private SslContextFactory stores() {
    return factory.getClass() == SslContextFactory.class ? (SslContextFactory) factory : null;
  }

  /** A factory keeps the context that it has once made. */
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

  private static boolean believesAnybody(SslContextFactory stores) {
    TrustManager[] managers = stores.getTrustManagers();
    return managers != null
        && Stream.of(managers)
            .anyMatch(
                manager ->
                    manager.getClass() == SslContextFactory.getDisabledTrustManager().getClass());
  }

  /** One certificate in its time is enough: JSSE chooses among several. */
  private void checkDates(SslContextFactory stores) {
    List<X509Certificate> own =
        entries(
            stores.getKeyStoreFilePath(),
            stores.getKeyStoreType(),
            stores.getKeyStorePassword(),
            KeyStore::isKeyEntry);
    if (own.isEmpty()) {
      throw unusable("its key store " + stores.getKeyStoreFilePath() + " holds no key");
    }
    java.util.Date now = new java.util.Date();
    if (own.stream().noneMatch(c -> !now.before(c.getNotBefore()) && !now.after(c.getNotAfter()))) {
      refusal.checkDates(own.get(0), "in " + stores.getKeyStoreFilePath());
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

  private RuntimeException unusable(String why) {
    return refusal.of(
        SETTING + " makes no context: " + why,
        "The node's server uses it where tensorflow.ignite.tls.certificate is not set, unless"
            + " TensorFlowService.tls is 'off'",
        "Correct its stores and their passwords");
  }
}
