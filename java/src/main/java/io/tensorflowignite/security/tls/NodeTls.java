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
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.settings.TlsSettings;
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
import org.apache.ignite.ssl.SslContextFactory;

/** TLS of one node's server; may be off. */
public final class NodeTls implements AutoCloseable {
  /** Interval at which the certificate files are checked for changes. */
  public static final Duration POLL_INTERVAL = Duration.ofSeconds(10);

  private static final ApplicationProtocolConfig HTTP_2 =
      new ApplicationProtocolConfig(
          ApplicationProtocolConfig.Protocol.ALPN,
          ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
          ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
          ApplicationProtocolNames.HTTP_2);

  private static final List<String> PROTOCOLS = Arrays.asList("TLSv1.3", "TLSv1.2");
  private static final Duration READ_LIMIT = Duration.ofSeconds(30);
  private static final long END_TIMEOUT_S = 2;

  private final IgniteLogger log;
  private final CertificateSource source;
  private final CaFile authorities;
  private final TlsErrors errors;
  private final CurrentSslContext current;
  private final SslContext context;
  private final SslContext httpContext;
  private final ScheduledExecutorService thread;

  private String used;
  private String rejected;

  private NodeTls(
      CertificateSource source,
      boolean clientCertificates,
      CaFile authorities,
      Duration pollInterval,
      TlsErrors errors,
      Loops loops,
      IgniteLogger log) {
    this.source = source;
    this.authorities = authorities;
    this.errors = errors;
    this.log = log;
    if (source == null) {
      current = null;
      context = null;
      httpContext = null;
      thread = null;
      return;
    }
    used = digest(source.files());
    current = new CurrentSslContext(source.read());
    context =
        context(
            current, HTTP_2, clientCertificates ? ClientAuth.OPTIONAL : ClientAuth.NONE, errors);
    httpContext =
        context(
            current,
            ApplicationProtocolConfig.DISABLED,
            clientCertificates ? ClientAuth.REQUIRE : ClientAuth.NONE,
            errors);
    authorities.write(source.authorities(), errors);
    if (source.files().isEmpty()) {
      thread = null;
      return;
    }
    thread =
        Executors.newSingleThreadScheduledExecutor(IdleThreads.daemons("tensorflow-ignite-tls"));
    // A task that throws is not scheduled again; a pass of a loop does not throw.
    Loop loop =
        loops.continuous(
            "certificates", pollInterval.multipliedBy(2).plus(READ_LIMIT), thread::isShutdown);
    thread.scheduleWithFixedDelay(
        () -> loop.pass(this::reloadIfChanged),
        pollInterval.toMillis(),
        pollInterval.toMillis(),
        TimeUnit.MILLISECONDS);
  }

  /**
   * TLS by the cluster's settings and the node's certificates. A node's PEM files precede the
   * factory of its Ignite configuration.
   *
   * @param factory the factory of the Ignite configuration; null: it has none
   * @param authorities the path of the file with CA certificates for the node's tasks
   * @param node the node's name in errors
   * @throws TensorFlowIgniteException if the node cannot have the configured TLS
   */
  public static NodeTls of(
      TlsSettings settings,
      PemFiles files,
      Factory<SSLContext> factory,
      Path authorities,
      Duration pollInterval,
      String node,
      Loops loops,
      IgniteLogger log) {
    TlsErrors errors = new TlsErrors(node);
    boolean clients = settings.clientCertificates;
    CertificateSource source = source(settings.mode, files, factory, clients, errors);
    if (clients && source == null) {
      throw errors.of(
          "it has no certificate, or TensorFlowService.security.tls is 'off'",
          "TensorFlowService.security.clientCertificates is 'required', and client certificates"
              + " need TLS",
          "Set tensorflow.ignite.tls.certificate, .key and .ca on this node, or"
              + " security.clientCertificates to 'none'");
    }
    return new NodeTls(source, clients, new CaFile(authorities), pollInterval, errors, loops, log);
  }

  /**
   * A context for Ignite's connections between nodes.
   *
   * @throws TensorFlowIgniteException if a file is missing or invalid
   */
  public static SSLContext betweenNodes(PemFiles files) {
    return new PemSource(files, false, new TlsErrors("of this process")).readBetweenNodes();
  }

  /**
   * Checks the stores of an Ignite configuration before Ignite uses them between nodes.
   *
   * @param node the node's name in errors
   * @throws TensorFlowIgniteException if no connection can succeed with these stores
   */
  public static void checkStores(Factory<SSLContext> factory, String node) {
    if (factory != null && factory.getClass() == SslContextFactory.class) {
      new IgniteSslSource(factory, false, new TlsErrors(node)).read();
    }
  }

  /** No TLS. */
  public static NodeTls off() {
    return new NodeTls(null, false, null, POLL_INTERVAL, null, null, null);
  }

  private static CertificateSource source(
      TlsSettings.Mode mode,
      PemFiles files,
      Factory<SSLContext> factory,
      boolean clientCertificates,
      TlsErrors errors) {
    if (mode == TlsSettings.Mode.OFF) {
      return null;
    }
    if (!files.isEmpty()) {
      return new PemSource(files, clientCertificates, errors);
    }
    if (factory != null) {
      return new IgniteSslSource(factory, clientCertificates, errors);
    }
    if (mode == TlsSettings.Mode.REQUIRED) {
      throw errors.of(
          "it has no certificate",
          "TensorFlowService.security.tls is 'required', so each node needs a certificate",
          "Set the system properties tensorflow.ignite.tls.certificate and"
              + " tensorflow.ignite.tls.key on this node (or TENSORFLOW_IGNITE_TLS_CERTIFICATE and"
              + " TENSORFLOW_IGNITE_TLS_KEY), or IgniteConfiguration.sslContextFactory");
    }
    return null;
  }

  public boolean isOn() {
    return source != null;
  }

  /** The server's context; empty: TLS is off. */
  public Optional<SslContext> context() {
    return Optional.ofNullable(context);
  }

  /** The context of the HTTP port; empty: TLS is off. */
  public Optional<SslContext> httpContext() {
    return Optional.ofNullable(httpContext);
  }

  /** The environment variables that a task of this node needs to call the cluster's nodes. */
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

  /** Uses changed files for new connections; keeps the old context if the new files are invalid. */
  private void reloadIfChanged() {
    String now = digest(source.files());
    if (now.equals(used)) {
      return;
    }
    try {
      SSLContext next = source.read();
      authorities.write(source.authorities(), errors);
      current.set(next);
      used = now;
      log.info("New connections get the new certificate [source=" + source + "]");
    } catch (RuntimeException e) {
      if (!now.equals(rejected)) {
        rejected = now;
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

  /** Always JSSE, also if a native implementation is present, since the context is JSSE's. */
  @SuppressWarnings("deprecation") // Netty's builder accepts no existing context.
  private static SslContext context(
      SSLContext current,
      ApplicationProtocolConfig protocolsAbove,
      ClientAuth clients,
      TlsErrors errors) {
    SSLEngine engine = current.createSSLEngine();
    List<String> protocols = both(PROTOCOLS, engine.getEnabledProtocols());
    List<String> ciphers = both(Http2SecurityUtil.CIPHERS, engine.getEnabledCipherSuites());
    if (protocols.isEmpty() || ciphers.isEmpty()) {
      throw errors.of(
          "its protocols are "
              + Arrays.toString(engine.getEnabledProtocols())
              + ", its cipher suites "
              + Arrays.toString(engine.getEnabledCipherSuites()),
          "A node uses TLSv1.2 or TLSv1.3, with the cipher suites of HTTP/2 (RFC 9113, 9.2.2)",
          "Allow them in IgniteConfiguration.sslContextFactory, or in Java's security properties");
    }
    return new JdkSslContext(
        current,
        false,
        ciphers,
        IdentityCipherSuiteFilter.INSTANCE,
        protocolsAbove,
        clients,
        protocols.toArray(new String[0]),
        false);
  }

  private static List<String> both(List<String> supported, String[] enabled) {
    List<String> both = new ArrayList<>(supported);
    both.retainAll(Arrays.asList(enabled));
    return both;
  }

  /** The digest of the files' content: modification times could miss two changes in one moment. */
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
