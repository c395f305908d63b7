package io.tensorflowignite.security.tls;

import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * A context that creates its connections with another context, which can be replaced. Connections
 * after the replacement share nothing with the old context: sessions from before it are not
 * resumed, so a removed CA is not trusted any more.
 */
final class CurrentSslContext extends SSLContext {
  private final AtomicReference<SSLContext> current;

  CurrentSslContext(SSLContext first) {
    this(first, new AtomicReference<>(first));
  }

  private CurrentSslContext(SSLContext first, AtomicReference<SSLContext> current) {
    super(new Spi(current), first.getProvider(), first.getProtocol());
    this.current = current;
  }

  void set(SSLContext next) {
    current.set(next);
  }

  private static final class Spi extends SSLContextSpi {
    private final AtomicReference<SSLContext> current;

    Spi(AtomicReference<SSLContext> current) {
      this.current = current;
    }

    @Override
    protected void engineInit(
        KeyManager[] keys, TrustManager[] trust, java.security.SecureRandom random) {
      throw new IllegalStateException("already initialized");
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return current.get().createSSLEngine();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return current.get().createSSLEngine(host, port);
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return current.get().getSocketFactory();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return current.get().getServerSocketFactory();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return current.get().getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return current.get().getClientSessionContext();
    }

    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
      return current.get().getDefaultSSLParameters();
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
      return current.get().getSupportedSSLParameters();
    }
  }
}
