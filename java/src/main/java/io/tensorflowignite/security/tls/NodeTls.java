package io.tensorflowignite.security.tls;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.IdentityCipherSuiteFilter;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.tensorflowignite.TensorFlowIgniteException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.cache.configuration.Factory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.apache.ignite.IgniteLogger;

/** TLS of one node's server, or that it has none. */
public final class NodeTls implements AutoCloseable {
  /** Files are looked at again so often. */
  public static final Duration LOOK_AGAIN = Duration.ofSeconds(10);

  private static final List<String> PROTOCOLS = Arrays.asList("TLSv1.3", "TLSv1.2");
  private static final long END_TIMEOUT_S = 2;

  private final IgniteLogger log;
  private final CertificateSource source;
  private final AuthorityFile authorities;
  private final Refusal refusal;
  private final CurrentSslContext current;
  private final SslContext context;
  private final ScheduledExecutorService thread;

  private String used;
  private String refused;

  private NodeTls(
      CertificateSource source,
      boolean clientCertificates,
      AuthorityFile authorities,
      Duration lookAgain,
      Refusal refusal,
      IgniteLogger log) {
    this.source = source;
    this.authorities = authorities;
    this.refusal = refusal;
    this.log = log;
    if (source == null) {
      current = null;
      context = null;
      thread = null;
      return;
    }
    used = digest(source.files());
    current = new CurrentSslContext(source.read());
    context = context(current, clientCertificates, refusal);
    authorities.write(source.authorities(), refusal);
    if (source.files().isEmpty()) {
      thread = null;
      return;
    }
    thread =
        Executors.newSingleThreadScheduledExecutor(
            body -> {
              Thread made = new Thread(body, "tensorflow-ignite-tls");
              made.setDaemon(true);
              return made;
            });
    thread.scheduleWithFixedDelay(
        this::look, lookAgain.toMillis(), lookAgain.toMillis(), TimeUnit.MILLISECONDS);
  }

  /**
   * As the cluster's settings and the node's certificates ask for it. A node's own files come
   * before the factory of its Ignite configuration.
   *
   * @param factory of the Ignite configuration; null: it has none
   * @param authorities where this may put by what the node's tasks verify nodes
   * @param node the node's name in errors
   * @throws TensorFlowIgniteException if the node cannot have the TLS that it ought to have
   */
  public static NodeTls of(
      TlsSettings settings,
      PemFiles files,
      Factory<SSLContext> factory,
      Path authorities,
      Duration lookAgain,
      String node,
      IgniteLogger log) {
    Refusal refusal = new Refusal(node);
    boolean clients = settings.clientCertificates();
    CertificateSource source = source(settings.mode(), files, factory, clients, refusal);
    if (clients && source == null) {
      throw refusal.of(
          "it has no certificate, or TensorFlowService.tls is 'off'",
          "TensorFlowService.clientCertificates is 'required', and certificates are shown by TLS"
              + " only",
          "Set tensorflow.ignite.tls.certificate, .key and .ca on this node, or"
              + " clientCertificates to 'none'");
    }
    return new NodeTls(source, clients, new AuthorityFile(authorities), lookAgain, refusal, log);
  }

  /** No TLS. */
  public static NodeTls off() {
    return new NodeTls(null, false, null, LOOK_AGAIN, null, null);
  }

  private static CertificateSource source(
      TlsSettings.Mode mode,
      PemFiles files,
      Factory<SSLContext> factory,
      boolean clientCertificates,
      Refusal refusal) {
    if (mode == TlsSettings.Mode.OFF) {
      return null;
    }
    if (!files.isEmpty()) {
      return new PemSource(files, clientCertificates, refusal);
    }
    if (factory != null) {
      return new FactorySource(factory, clientCertificates, refusal);
    }
    if (mode == TlsSettings.Mode.REQUIRED) {
      throw refusal.of(
          "it has no certificate",
          "TensorFlowService.tls is 'required', so each node has one of its own",
          "Set the system properties tensorflow.ignite.tls.certificate and"
              + " tensorflow.ignite.tls.key on this node (or TENSORFLOW_IGNITE_TLS_CERTIFICATE and"
              + " TENSORFLOW_IGNITE_TLS_KEY), or IgniteConfiguration.sslContextFactory");
    }
    return null;
  }

  public boolean isOn() {
    return source != null;
  }

  /** For the server; empty: it does not encrypt. */
  public Optional<SslContext> context() {
    return Optional.ofNullable(context);
  }

  /**
   * What a task of this node has in its environment, to call the cluster's nodes as their server
   * wants it.
   */
  public Map<String, String> taskEnvironment() {
    if (!isOn()) {
      return Collections.emptyMap();
    }
    Map<String, String> env = new HashMap<>();
    env.put("TENSORFLOW_IGNITE_TLS", "true");
    if (authorities.exists()) {
      env.put("TENSORFLOW_IGNITE_CAFILE", authorities.toString());
    }
    return env;
  }

  @Override
  public String toString() {
    return isOn() ? source.toString() : "off";
  }

  /** Uses what stands in the files now for new connections; keeps the old, if it is unfit. */
  private void look() {
    String now = digest(source.files());
    if (now.equals(used)) {
      return;
    }
    try {
      SSLContext next = source.read();
      authorities.write(source.authorities(), refusal);
      current.set(next);
      used = now;
      log.info("New connections get the new certificate [source=" + source + "]");
    } catch (RuntimeException e) {
      if (!now.equals(refused)) {
        refused = now;
        log.warning("The changed certificate is not used; the old one stays. " + e.getMessage());
      }
    }
  }

  @Override
  public void close() throws InterruptedException, IOException {
    if (thread != null) {
      thread.shutdownNow();
      thread.awaitTermination(END_TIMEOUT_S, TimeUnit.SECONDS);
    }
    if (authorities != null) {
      authorities.remove();
    }
  }

  /** JSSE's own implementation, whatever native one may be around, since files are JSSE's. */
  @SuppressWarnings("deprecation") // Netty's own builder takes no context that exists already.
  private static SslContext context(
      SSLContext current, boolean clientCertificates, Refusal refusal) {
    SSLEngine engine = current.createSSLEngine();
    List<String> protocols = both(PROTOCOLS, engine.getEnabledProtocols());
    List<String> ciphers = both(Http2SecurityUtil.CIPHERS, engine.getEnabledCipherSuites());
    if (protocols.isEmpty() || ciphers.isEmpty()) {
      throw refusal.of(
          "its protocols are "
              + Arrays.toString(engine.getEnabledProtocols())
              + ", its cipher suites "
              + Arrays.toString(engine.getEnabledCipherSuites()),
          "A node speaks TLSv1.2 or TLSv1.3, with the cipher suites of HTTP/2 (RFC 9113, 9.2.2)",
          "Allow them in IgniteConfiguration.sslContextFactory, or in Java's security properties");
    }
    return new JdkSslContext(
        current,
        false,
        ciphers,
        IdentityCipherSuiteFilter.INSTANCE,
        new ApplicationProtocolConfig(
            ApplicationProtocolConfig.Protocol.ALPN,
            ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
            ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
            ApplicationProtocolNames.HTTP_2),
        clientCertificates ? ClientAuth.OPTIONAL : ClientAuth.NONE,
        protocols.toArray(new String[0]),
        false);
  }

  private static List<String> both(List<String> wanted, String[] there) {
    List<String> both = new ArrayList<>(wanted);
    both.retainAll(Arrays.asList(there));
    return both;
  }

  /** Of what the files hold: their times tell too little of two changes within a moment. */
  private static String digest(List<Path> files) {
    Hasher hasher = Hashing.sha256().newHasher();
    for (Path file : files) {
      try {
        byte[] bytes = Files.readAllBytes(file);
        hasher.putInt(bytes.length).putBytes(bytes);
      } catch (IOException e) {
        hasher.putInt(-1);
      }
    }
    return hasher.hash().toString();
  }
}
