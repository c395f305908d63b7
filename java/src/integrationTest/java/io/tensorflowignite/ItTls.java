package io.tensorflowignite;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.security.tls.TestAuthority;
import io.tensorflowignite.v1.Access;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.SubmitJobRequest;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.ssl.SslContextFactory;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Real nodes with certificates from files, and from Ignite's SSL factory.
 *
 * <p>Promise (security): A node that cannot set up its configured TLS does not serve.
 */
public class ItTls {
  private static final long TIMEOUT_S = 30;
  private static final int ROWS = 100;
  private static final Duration DAY = Duration.ofDays(1);
  private static final char[] PASSWORD = "store's own".toCharArray();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  private static final KeyPair KEYS = TestAuthority.keys("EC");
  private static final TestAuthority OURS = new TestAuthority("ours");
  private static Path certificate;
  private static Path authorities;

  @BeforeClass
  public static void writeFiles() throws Exception {
    Path directory = FOLDER.getRoot().toPath();
    certificate = directory.resolve("node.pem");
    authorities = directory.resolve("authorities.pem");
    Path key = directory.resolve("node.key");
    TestAuthority.write(key, KEYS.getPrivate());
    TestAuthority.write(authorities, OURS.certificate());
    SETTINGS.with("tls.certificate", certificate.toString()).with("tls.key", key.toString());
    SETTINGS.before();
  }

  @Test
  public void nodeWithFilesOfItsOwnEncryptsCallsAndRows() throws Exception {
    TestAuthority.write(certificate, OURS.sign("node", KEYS.getPublic(), DAY));
    try (Ignite node = Ignition.start(configuration(null))) {
      assertEncrypted(node);
    }
  }

  @Test
  public void nodeOfAnEncryptedClusterTakesIgnitesCertificate() throws Exception {
    System.clearProperty("tensorflow.ignite.tls.certificate");
    System.clearProperty("tensorflow.ignite.tls.key");
    try (Ignite node = Ignition.start(configuration(stores()))) {
      assertEncrypted(node);
    } finally {
      SETTINGS.before();
    }
  }

  @Test
  public void nodeWhoseCertificateHasEndedDoesNotServeAndSaysWhy() throws Exception {
    TestAuthority.write(certificate, OURS.sign("node", KEYS.getPublic(), Duration.ofSeconds(-1)));
    try (Ignite node = Ignition.start(configuration(null))) {
      TensorFlowService service = NodeService.settled(node);
      assertNull(service.address());
      String text = service.failure();
      String id = node.cluster().localNode().id().toString().substring(0, 8);
      assertTrue(text, text.startsWith("Node " + id + " has no usable TLS: the certificate "));
      assertTrue(text, text.contains(certificate.toString()));
    }
  }

  private static void assertEncrypted(Ignite node) throws Exception {
    TensorFlowService service = NodeService.settled(node);
    assertNull(service.failure());
    String[] address = service.address().split(":");
    int port = Integer.parseInt(address[1]);
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(address[0], port)
            .sslContext(GrpcSslContexts.forClient().trustManager(authorities.toFile()).build())
            .build();
    try {
      NodeApiServiceGrpc.NodeApiServiceBlockingStub api =
          NodeApiServiceGrpc.newBlockingStub(channel)
              .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
      assertEquals(
          service.address(),
          api.listNodes(ListNodesRequest.getDefaultInstance()).getNodes(0).getAddress());
      assertJobsMustAcceptPlainText(api);
    } finally {
      channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    }
    for (int row = 0; row < ROWS; row++) {
      node.<Integer, Integer>getOrCreateCache("rows").put(row, row);
    }
    assertEquals(ROWS, rows(Location.forGrpcTls(address[0], port)));
  }

  private static void assertJobsMustAcceptPlainText(
      NodeApiServiceGrpc.NodeApiServiceBlockingStub api) {
    JobSpec spec =
        JobSpec.newBuilder()
            .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_MULTI_WORKER_MIRRORED))
            .setCache("no cache")
            .setScript("main.py")
            .build();
    assertTrue(refusal(api, spec).endsWith("allow_plaintext=true. [code=INVALID_REQUEST]"));
    JobSpec accepts =
        spec.toBuilder().setAccess(Access.newBuilder().setAllowPlaintext(true)).build();
    assertTrue(refusal(api, accepts).endsWith("[code=CACHE_NOT_FOUND]"));
  }

  private static String refusal(NodeApiServiceGrpc.NodeApiServiceBlockingStub api, JobSpec spec) {
    return assertThrows(
            StatusRuntimeException.class,
            () ->
                api.submitJob(
                    SubmitJobRequest.newBuilder().setRequestId("once").setSpec(spec).build()))
        .getStatus()
        .getDescription();
  }

  /** Counts the rows, which are read from the locations that the endpoint publishes. */
  private static long rows(Location location) throws Exception {
    long rows = 0;
    try (RootAllocator allocator = new RootAllocator();
        FlightClient client = client(allocator, location)) {
      FlightInfo info = client.getInfo(FlightDescriptor.path("rows"));
      for (FlightEndpoint endpoint : info.getEndpoints()) {
        Location published = endpoint.getLocations().get(0);
        assertEquals("grpc+tls", published.getUri().getScheme());
        try (FlightClient reader = client(allocator, published);
            FlightStream stream = reader.getStream(endpoint.getTicket())) {
          while (stream.next()) {
            rows += stream.getRoot().getRowCount();
          }
        }
      }
    }
    return rows;
  }

  private static FlightClient client(RootAllocator allocator, Location location) throws Exception {
    try (InputStream trusted = Files.newInputStream(authorities)) {
      return FlightClient.builder(allocator, location).trustedCertificates(trusted).build();
    }
  }

  private static SslContextFactory stores() throws Exception {
    Path keys = FOLDER.getRoot().toPath().resolve("node.p12");
    Path trusted = FOLDER.getRoot().toPath().resolve("trusted.jks");
    TestAuthority.writeStore(
        keys, "PKCS12", PASSWORD, KEYS.getPrivate(), OURS.sign("node", KEYS.getPublic(), DAY));
    TestAuthority.writeStore(trusted, "JKS", PASSWORD, null, OURS.certificate());
    return TestAuthority.factory(keys, "PKCS12", trusted, "JKS", PASSWORD);
  }

  private static IgniteConfiguration configuration(SslContextFactory factory) throws Exception {
    return new LoopbackNodes(1)
        .configuration("tls", FOLDER.getRoot().toPath())
        .setServiceConfiguration(NodeService.of(new TensorFlowService()))
        .setSslContextFactory(factory);
  }
}
