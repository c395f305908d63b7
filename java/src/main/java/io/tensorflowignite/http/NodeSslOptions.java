package io.tensorflowignite.http;

import io.netty.handler.ssl.SslContext;
import io.vertx.core.net.KeyCertOptions;
import io.vertx.core.net.SSLEngineOptions;
import io.vertx.core.spi.tls.SslContextFactory;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;

/** Connections with the TLS context of the node, which follows its certificates. */
final class NodeSslOptions extends SSLEngineOptions {
  private final SslContext context;

  NodeSslOptions(SslContext context) {
    this.context = context;
  }

  /** An empty key store: Vert.x requires one, although the context has the keys. */
  static KeyCertOptions keys() {
    try {
      KeyStore none = KeyStore.getInstance(KeyStore.getDefaultType());
      none.load(null, null);
      KeyManagerFactory keys =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(none, new char[0]);
      return KeyCertOptions.wrap(keys);
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public SSLEngineOptions copy() {
    return new NodeSslOptions(context);
  }

  @Override
  public SslContextFactory sslContextFactory() {
    return () -> context;
  }
}
