package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableMap;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.security.tls.Authority;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.NodeApiGrpc;
import io.tensorflowignite.v1.SubmitJobRequest;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.Map;
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
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Real nodes with certificates: of their own, and of Ignite's factory. */
public class ItTls {
  private static final long TIMEOUT_S = 30;
  private static final int ROWS = 100;
  private static final Duration DAY = Duration.ofDays(1);
  private static final char[] PASSWORD = "store's own".toCharArray();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static final KeyPair KEYS = Authority.keys("EC");
  private static final Authority OURS = new Authority("ours");
  private static Map<String, String> settings;
  private static Path certificate;
  private static Path authorities;

  @BeforeClass
  public static void writeFiles() throws Exception {
    Path directory = FOLDER.getRoot().toPath();
    Path python = directory.resolve("python");
    Files.writeString(python, "#!/bin/sh\nexec python3 -IS \"$@\"\n");
    assertTrue(python.toFile().setExecutable(true));
    certificate = directory.resolve("node.pem");
    authorities = directory.resolve("authorities.pem");
    Path key = directory.resolve("node.key");
    Authority.write(key, KEYS.getPrivate());
    Authority.write(authorities, OURS.certificate());
    settings =
        ImmutableMap.of(
            "tensorflow.ignite.python", python.toString(),
            "tensorflow.ignite.port", "0",
            "tensorflow.ignite.host", "127.0.0.1",
            "tensorflow.ignite.tls.certificate", certificate.toString(),
            "tensorflow.ignite.tls.key", key.toString());
    settings.forEach(System::setProperty);
  }

  @AfterClass
  public static void forgetFiles() {
    settings.keySet().forEach(System::clearProperty);
  }

  @Test
  public void nodeWithFilesOfItsOwnEncryptsCallsAndRows() throws Exception {
    Authority.write(certificate, OURS.sign("node", KEYS.getPublic(), DAY));
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
      settings.forEach(System::setProperty);
    }
  }

  @Test
  public void nodeWhoseCertificateHasEndedDoesNotServeAndSaysWhy() throws Exception {
    Authority.write(certificate, OURS.sign("node", KEYS.getPublic(), Duration.ofSeconds(-1)));
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
      NodeApiGrpc.NodeApiBlockingStub api =
          NodeApiGrpc.newBlockingStub(channel).withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
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

  private static void assertJobsMustAcceptPlainText(NodeApiGrpc.NodeApiBlockingStub api) {
    JobSpec spec =
        JobSpec.newBuilder()
            .setKind(JobKind.MULTI_WORKER_MIRRORED)
            .setCache("no cache")
            .setScript("main.py")
            .build();
    assertTrue(refusal(api, spec).endsWith("allow_plaintext=True. [code=INVALID_REQUEST]"));
    JobSpec accepts = spec.toBuilder().setAllowPlaintext(true).build();
    assertTrue(refusal(api, accepts).endsWith("[code=CACHE_NOT_FOUND]"));
  }

  private static String refusal(NodeApiGrpc.NodeApiBlockingStub api, JobSpec spec) {
    return assertThrows(
            StatusRuntimeException.class,
            () ->
                api.submitJob(
                    SubmitJobRequest.newBuilder().setRequestId("once").setSpec(spec).build()))
        .getStatus()
        .getDescription();
  }

  /** Read from where the endpoint itself says that they are. */
  private static long rows(Location location) throws Exception {
    long rows = 0;
    try (RootAllocator allocator = new RootAllocator();
        FlightClient client = client(allocator, location)) {
      FlightInfo info = client.getInfo(FlightDescriptor.path("rows"));
      for (FlightEndpoint endpoint : info.getEndpoints()) {
        Location told = endpoint.getLocations().get(0);
        assertEquals("grpc+tls", told.getUri().getScheme());
        try (FlightClient reader = client(allocator, told);
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
    Authority.writeStore(
        keys, "PKCS12", PASSWORD, KEYS.getPrivate(), OURS.sign("node", KEYS.getPublic(), DAY));
    Authority.writeStore(trusted, "JKS", PASSWORD, null, OURS.certificate());
    SslContextFactory factory = new SslContextFactory();
    factory.setKeyStoreType("PKCS12");
    factory.setKeyStoreFilePath(keys.toString());
    factory.setKeyStorePassword(PASSWORD);
    factory.setTrustStoreType("JKS");
    factory.setTrustStoreFilePath(trusted.toString());
    factory.setTrustStorePassword(PASSWORD);
    return factory;
  }

  private static IgniteConfiguration configuration(SslContextFactory factory) throws Exception {
    return new LoopbackNodes(1)
        .configuration("tls", FOLDER.getRoot().toPath())
        .setServiceConfiguration(NodeService.of(new TensorFlowService()))
        .setSslContextFactory(factory);
  }
}
