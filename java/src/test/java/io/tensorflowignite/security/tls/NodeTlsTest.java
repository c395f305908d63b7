package io.tensorflowignite.security.tls;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableMap;
import com.google.common.io.BaseEncoding;
import com.google.common.io.ByteStreams;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.util.CertificateUtils;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.Refusals;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.settings.TlsSettings;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.ssl.SslContextFactory;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/**
 * A real server and real connections, with certificates of the test.
 *
 * <p>Promise (security): A port with TLS never accepts plain text.
 */
public class NodeTlsTest {
  private static final Duration DAY = Duration.ofDays(1);
  private static final Duration OFTEN = Duration.ofMillis(20);
  private static final int TIMEOUT_S = 20;
  private static final char[] PASSWORD = "store's own".toCharArray();
  private static final TlsSettings AUTO = new TlsSettings(TlsSettings.Mode.AUTO, false);
  private static final TlsSettings MUTUAL = new TlsSettings(TlsSettings.Mode.AUTO, true);

  private static TestAuthority ours;
  private static TestAuthority foreign;
  private static KeyPair keys;
  private static KeyPair callersKeys;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private final BlockingQueue<String> logged = new LinkedBlockingQueue<>();
  private final NullLogger log =
      new NullLogger() {
        @Override
        public void info(String text) {
          logged.add(text);
        }

        @Override
        public void warning(String text) {
          logged.add(text);
        }
      };
  private Path certificate;
  private Path key;
  private Path authorities;
  private Path keyStore;
  private Path trustStore;
  private Path trusted;

  @BeforeClass
  public static void makeAuthorities() {
    ours = new TestAuthority("ours");
    foreign = new TestAuthority("foreign");
    keys = TestAuthority.keys("RSA");
    callersKeys = TestAuthority.keys("EC");
  }

  @Before
  public void writeFiles() throws Exception {
    Path directory = folder.getRoot().toPath();
    certificate = directory.resolve("node.pem");
    key = directory.resolve("node.key");
    authorities = directory.resolve("authorities.pem");
    keyStore = directory.resolve("node.jks");
    trustStore = directory.resolve("trust.p12");
    trusted = directory.resolve("work/trusted.pem");
    TestAuthority.write(certificate, ours.sign("node", keys.getPublic(), DAY));
    TestAuthority.write(key, keys.getPrivate());
    TestAuthority.write(authorities, ours.certificate());
  }

  @Test
  public void protocols12And13AreSpokenAnd11IsRefusedByTheServerItself() throws Exception {
    // A hand-made hello of TLS 1.1, which Java's client cannot send.
    String hello =
        "1603010031" // record: handshake, 49 bytes
            + "0100002d0302" // ClientHello, 45 bytes, TLS 1.1
            + "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" // random
            + "00" // no session
            + "0006c013002f0035" // suites that TLS 1.1 and the server's key allow
            + "0100"; // no compression
    try (TlsServer server = server(AUTO)) {
      for (String protocol : new String[] {"TLSv1.2", "TLSv1.3"}) {
        assertEquals(protocol, server.handshake(ours.certificate(), protocol).getProtocol());
      }
    }
    try (TlsServer server = server(AUTO);
        Socket socket = new Socket("127.0.0.1", server.port())) {
      socket.setSoTimeout(TIMEOUT_S * 1000);
      socket.getOutputStream().write(BaseEncoding.base16().lowerCase().decode(hello));
      byte[] alert = new byte[7];
      ByteStreams.readFully(socket.getInputStream(), alert);
      assertEquals("an alert", 21, alert[0]);
      assertEquals("fatal", 2, alert[5]);
      assertEquals("protocol_version", 70, alert[6]);
    }
  }

  @Test
  public void plainCallOnAnEncryptedPortFails() throws Exception {
    try (TlsServer server = server(AUTO)) {
      ManagedChannel plain =
          NettyChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext().build();
      assertUnavailable(() -> TlsServer.name(plain));
      plain.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    }
  }

  @Test
  public void renewedCertificateOfTheSameKeyIsShownToNewConnectionsAndOldOnesStay()
      throws Exception {
    try (TlsServer server = server(AUTO)) {
      X509Certificate old = server.shown(ours);
      ManagedChannel open = server.channel(ours, null, null);
      assertEquals(TlsServer.NOBODY, TlsServer.name(open));
      TestAuthority.write(certificate, ours.sign("node", keys.getPublic(), DAY));
      assertLogged("New connections get the new certificate");
      assertNotEquals(old, server.shown(ours));
      assertEquals(TlsServer.NOBODY, TlsServer.name(open));
      open.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    }
  }

  @Test
  public void changedFilesThatDoNotMatchAreLoggedOnceAndTheOldOnesStayInUse() throws Exception {
    try (TlsServer server = server(AUTO)) {
      X509Certificate old = server.shown(ours);
      TestAuthority.write(certificate, ours.sign("node", callersKeys.getPublic(), DAY));
      assertLogged("does not match the certificate");
      assertEquals(old, server.shown(ours));
      TestAuthority.write(key, callersKeys.getPrivate());
      assertLogged("New connections get the new certificate");
      assertEquals(callersKeys.getPublic(), server.shown(ours).getPublicKey());
    }
  }

  @Test
  public void callersVerifiedCertificateIsInTheContextOfItsCallsIfTheSettingAsksForOne()
      throws Exception {
    X509Certificate callers = ours.sign("etl", callersKeys.getPublic(), DAY);
    try (TlsServer server = server(MUTUAL)) {
      assertEquals("CN=etl", server.name(ours, callersKeys.getPrivate(), callers));
      assertEquals(TlsServer.NOBODY, server.name(ours, null, null));
    }
    X509Certificate stranger = foreign.sign("etl", callersKeys.getPublic(), DAY);
    try (TlsServer server = server(AUTO)) {
      assertEquals(TlsServer.NOBODY, server.name(ours, callersKeys.getPrivate(), stranger));
    }
  }

  @Test
  public void callersCertificateOfAForeignAuthorityOrOutOfItsTimeEndsTheConnection()
      throws Exception {
    X509Certificate stranger = foreign.sign("etl", callersKeys.getPublic(), DAY);
    X509Certificate expired = ours.sign("etl", callersKeys.getPublic(), Duration.ofSeconds(-1));
    try (TlsServer server = server(MUTUAL)) {
      for (X509Certificate shown : new X509Certificate[] {stranger, expired}) {
        assertUnavailable(() -> server.name(ours, callersKeys.getPrivate(), shown));
      }
    }
  }

  @Test
  public void newConnectionsDoNotTrustARemovedAuthority() throws Exception {
    X509Certificate callers = ours.sign("etl", callersKeys.getPublic(), DAY);
    try (TlsServer server = server(MUTUAL)) {
      assertEquals("CN=etl", server.name(ours, callersKeys.getPrivate(), callers));
      TestAuthority.write(authorities, foreign.certificate());
      assertLogged("New connections get the new certificate");
      assertUnavailable(() -> server.name(ours, callersKeys.getPrivate(), callers));
    }
  }

  @Test
  public void ignitesOwnStoresServeAndAreReadAgainWhenTheyChange() throws Exception {
    SslContextFactory factory = stores(DAY);
    X509Certificate callers = ours.sign("etl", callersKeys.getPublic(), DAY);
    try (TlsServer server = server(MUTUAL, none(), factory)) {
      X509Certificate old = server.shown(ours);
      assertEquals("CN=etl", server.name(ours, callersKeys.getPrivate(), callers));
      assertEquals(TlsServer.NOBODY, server.name(ours, null, null));
      stores(DAY);
      assertLogged("New connections get the new certificate");
      assertNotEquals(old, server.shown(ours));
    }
  }

  @Test
  public void nodesOwnFilesComeBeforeIgnitesFactoryAndOffBeforeBoth() throws Exception {
    SslContextFactory factory = stores(DAY);
    SslContextFactory another =
        new SslContextFactory() {
          @Override
          public javax.net.ssl.SSLContext create() {
            return factory.create();
          }
        };
    try (TlsServer server = server(AUTO, none(), another)) {
      assertEquals("CN=node", server.shown(ours).getSubjectX500Principal().getName());
    }
    TestAuthority.write(certificate, ours.sign("files", keys.getPublic(), DAY));
    try (TlsServer server = server(AUTO, files(), factory)) {
      assertEquals("CN=files", server.shown(ours).getSubjectX500Principal().getName());
    }
    TlsSettings off = new TlsSettings(TlsSettings.Mode.OFF, false);
    try (NodeTls tls = tls(off, files(), factory)) {
      assertFalse(tls.isOn());
      assertFalse(tls.context().isPresent());
    }
  }

  @Test
  public void nodeWithoutACertificateIsPlainUnlessTheClusterRequiresOne() throws Exception {
    try (NodeTls tls = tls(AUTO, none(), null)) {
      assertFalse(tls.isOn());
    }
    assertRefused(
        () -> tls(new TlsSettings(TlsSettings.Mode.REQUIRED, false), none(), null),
        "has no certificate",
        "TensorFlowService.security.tls is 'required'",
        "tensorflow.ignite.tls.certificate");
    assertRefused(() -> tls(MUTUAL, none(), null), "security.clientCertificates is 'required'");
  }

  @Test
  public void theErrorNamesTheMissingOrInvalidFile() throws Exception {
    PemFiles half = new PemFiles(certificate, null, null);
    assertRefused(() -> tls(AUTO, half, null), "tensorflow.ignite.tls.key is not set");
    PemFiles bare = new PemFiles(certificate, key, null);
    assertRefused(() -> tls(MUTUAL, bare, null), "tensorflow.ignite.tls.ca is not set");
    PemFiles absent = new PemFiles(certificate, folder.getRoot().toPath().resolve("no.key"), null);
    assertRefused(() -> tls(AUTO, absent, null), "no.key cannot be read (NoSuchFileException)");
    PemFiles swapped = new PemFiles(key, certificate, null);
    assertRefused(() -> tls(AUTO, swapped, null), key + " holds no certificate");
    Files.writeString(certificate, "");
    assertRefused(() -> server(AUTO), certificate + " holds no certificate");
    TestAuthority.write(certificate, ours.sign("node", callersKeys.getPublic(), DAY));
    assertRefused(() -> server(AUTO), key + " does not match the certificate " + certificate);
    TestAuthority.write(certificate, ours.sign("node", keys.getPublic(), Duration.ofSeconds(-1)));
    assertRefused(() -> server(AUTO), certificate + " (CN=node) is valid from ", "Renew it");
    TestAuthority.write(certificate, ours.sign("node", keys.getPublic(), DAY));
    Files.writeString(authorities, "none\n");
    assertRefused(() -> server(AUTO), authorities + " holds no certificate");
  }

  @Test
  public void keyThatCannotBeReadIsNotQuoted() throws Exception {
    for (String text :
        new String[] {
          "Zm9vYmFy",
          "-----BEGIN PRIVATE KEY-----\nZm9v!YmFy\n-----END PRIVATE KEY-----\n",
          "-----BEGIN PRIVATE KEY-----\nZm9vYmFy\n-----END PRIVATE KEY-----\n",
          "-----BEGIN ENCRYPTED PRIVATE KEY-----\nZm9vYmFy\n-----END ENCRYPTED PRIVATE KEY-----\n"
        }) {
      Files.writeString(key, text);
      assertNotQuoted(
          "Zm9v",
          assertRefused(() -> server(AUTO), key + " holds no such key", "BEGIN PRIVATE KEY"));
    }
  }

  @Test
  public void theErrorOfAnInvalidStoreDoesNotShowItsPassword() throws Exception {
    SslContextFactory expired = stores(Duration.ofSeconds(-1));
    assertRefused(() -> tls(AUTO, none(), expired), keyStore + " (CN=node) is valid from ");
    SslContextFactory anybody = stores(DAY);
    anybody.setTrustManagers(SslContextFactory.getDisabledTrustManager());
    assertRefused(() -> tls(MUTUAL, none(), anybody), "verifies no certificates");
    SslContextFactory closed = stores(DAY);
    closed.setKeyStorePassword("another one".toCharArray());
    assertNotQuoted(
        "another one",
        assertRefused(() -> tls(AUTO, none(), closed), keyStore + " cannot be read"));
  }

  @Test
  public void anEmptyTrustStoreIsRefusedWithTheCommandThatMakesAWholeOne() throws Exception {
    SslContextFactory empty = stores(DAY);
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (OutputStream file = Files.newOutputStream(trustStore)) {
      store.store(file, empty.getTrustStorePassword());
    }
    String[] texts = {
      trustStore + " holds no certificate that Java trusts",
      "openssl pkcs12 -export -nokeys",
      "keytool -importcert -noprompt -alias ca -file ca.pem"
    };
    assertRefused(() -> tls(AUTO, none(), empty), texts);
    Refusals.assertRefused(() -> NodeTls.checkStores(empty, "n"), texts[0]);
  }

  @Test
  public void betweenNodesACaIsNeededAndNoCertificateThatIsForClientsOnlyIsAccepted()
      throws Exception {
    NodePeerVerifier peers = new NodePeerVerifier();
    X509Certificate node = ours.sign("node", keys.getPublic(), DAY);
    peers.verifyPeerCertificate(new X509Certificate[] {node}, "EC", (Socket) null);
    X509Certificate alice = ours.signForClients("alice", callersKeys.getPublic(), DAY);
    Exception refused =
        assertThrows(
            CertificateException.class,
            () -> peers.verifyPeerCertificate(new X509Certificate[] {alice}, "EC", (Socket) null));
    assertTrue(refused.getMessage(), refused.getMessage().contains("CN=alice is for clients only"));
    assertEquals("TLS", NodeTls.betweenNodes(files()).getProtocol());
    Refusals.assertRefused(
        () -> NodeTls.betweenNodes(new PemFiles(certificate, key, null)),
        "tensorflow.ignite.tls.ca is not set");
    Refusals.assertRefused(
        () -> NodeTls.betweenNodes(none()), "tensorflow.ignite.tls.certificate is not set");
  }

  @Test
  public void tasksGetTheSettingToEncryptAndTheCaFile() throws Exception {
    try (NodeTls tls = tls(AUTO, none(), null)) {
      assertEquals(Collections.emptyMap(), tls.taskEnvironment());
    }
    Map<String, String> verified =
        ImmutableMap.of(
            "TENSORFLOW_IGNITE_TLS", "true", "TENSORFLOW_IGNITE_CAFILE", trusted.toString());
    try (NodeTls tls = tls(AUTO, files(), null)) {
      assertEquals(verified, tls.taskEnvironment());
      assertEquals(ours.certificate(), read(trusted));
      TestAuthority.write(authorities, foreign.certificate());
      assertLogged("New connections get the new certificate");
      assertEquals(foreign.certificate(), read(trusted));
    }
    try (NodeTls tls = tls(AUTO, none(), stores(DAY))) {
      assertEquals(verified, tls.taskEnvironment());
      assertEquals(ours.certificate(), read(trusted));
    }
    try (NodeTls tls = tls(AUTO, new PemFiles(certificate, key, null), null)) {
      assertEquals(ImmutableMap.of("TENSORFLOW_IGNITE_TLS", "true"), tls.taskEnvironment());
    }
  }

  private static X509Certificate read(Path file) throws Exception {
    try (InputStream bytes = Files.newInputStream(file)) {
      return CertificateUtils.getX509Certificates(bytes)[0];
    }
  }

  private SslContextFactory stores(Duration left) throws Exception {
    TestAuthority.writeStore(
        keyStore, "JKS", PASSWORD, keys.getPrivate(), ours.sign("node", keys.getPublic(), left));
    TestAuthority.writeStore(trustStore, "PKCS12", PASSWORD, null, ours.certificate());
    return TestAuthority.factory(keyStore, "JKS", trustStore, "PKCS12", PASSWORD);
  }

  private PemFiles files() {
    return new PemFiles(certificate, key, authorities);
  }

  private static PemFiles none() {
    return new PemFiles(null, null, null);
  }

  private NodeTls tls(TlsSettings settings, PemFiles files, SslContextFactory factory) {
    return NodeTls.of(settings, files, factory, trusted, OFTEN, "1a2b3c4d", new Loops(log), log);
  }

  private TlsServer server(TlsSettings settings) {
    return server(settings, files(), null);
  }

  private TlsServer server(TlsSettings settings, PemFiles files, SslContextFactory factory) {
    return new TlsServer(tls(settings, files, factory), log);
  }

  private void assertLogged(String part) throws InterruptedException {
    String text = logged.poll(TIMEOUT_S, TimeUnit.SECONDS);
    assertTrue(text, text != null && text.contains(part));
  }

  private static Exception assertRefused(ThrowingRunnable start, String... parts) {
    Exception refused = assertThrows(TensorFlowIgniteException.class, start);
    String text = refused.getMessage();
    assertTrue(text, text.startsWith("Node 1a2b3c4d has no usable TLS: "));
    for (String part : parts) {
      assertTrue(text, text.contains(part));
    }
    return refused;
  }

  private static void assertNotQuoted(String secret, Exception refused) {
    for (Throwable e = refused; e != null; e = e.getCause()) {
      assertFalse(e.toString(), e.toString().contains(secret));
    }
  }

  private static void assertUnavailable(ThrowingRunnable call) {
    StatusRuntimeException failed = assertThrows(StatusRuntimeException.class, call);
    assertEquals(failed.toString(), Status.Code.UNAVAILABLE, failed.getStatus().getCode());
  }
}
