package io.tensorflowignite;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.hash.Hashing;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.SubmitJobRequest;
import io.tensorflowignite.v1.UploadCodeRequest;
import io.tensorflowignite.v1.UploadCodeResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The bean deployed from Java code, on nodes whose interpreter lacks our package. */
public class ItService {
  private static final int PORTS = 10;
  private static final long TIMEOUT_S = 30;
  private static final byte[] CODE = "not even an archive".getBytes(StandardCharsets.UTF_8);

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static final List<Ignite> NODES = new ArrayList<>();
  private static final List<ManagedChannel> CHANNELS = new ArrayList<>();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  @BeforeClass
  public static void startNodes() throws IOException {
    LoopbackNodes nodes = new LoopbackNodes(PORTS);
    for (int i = 0; i < 2; i++) {
      NODES.add(Ignition.start(configuration("service-" + i, nodes)));
    }
    for (Ignite node : NODES) {
      String[] address = NodeService.address(node).split(":");
      CHANNELS.add(
          NettyChannelBuilder.forAddress(address[0], Integer.parseInt(address[1]))
              .usePlaintext()
              .build());
    }
  }

  @AfterClass
  public static void stopNodes() throws InterruptedException {
    for (ManagedChannel channel : CHANNELS) {
      assertTrue(channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
    }
    NODES.forEach(Ignite::close);
    SETTINGS.awaitNoThreads();
  }

  @Test
  public void everyNodeListsAllNodesAndWhyTheyHaveNoAgent() {
    for (ManagedChannel channel : CHANNELS) {
      List<Node> nodes = nodesWithReason(channel);
      assertEquals(2, nodes.size());
      for (int i = 0; i < 2; i++) {
        assertEquals(NODES.get(i).cluster().localNode().id().toString(), nodes.get(i).getId());
        assertEquals(NodeService.address(NODES.get(i)), nodes.get(i).getAddress());
        assertTrue(
            nodes.get(i).getAgent().getError(),
            nodes.get(i).getAgent().getError().contains("No module named 'tensorflow_ignite'"));
      }
    }
  }

  @Test
  public void aJobThatNoNodeCanRunIsRejectedWithTheReason() throws Exception {
    NODES.get(0).<Integer, Integer>getOrCreateCache("rows").put(1, 1);
    nodesWithReason(CHANNELS.get(1));
    String digest = Hashing.sha256().hashBytes(CODE).toString();
    upload(CHANNELS.get(0), digest);
    JobSpec spec =
        JobSpec.newBuilder()
            .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_MULTI_WORKER_MIRRORED))
            .setCache("rows")
            .setCodeDigest(digest)
            .setScript("main.py")
            .build();
    NodeApiServiceGrpc.NodeApiServiceBlockingStub other = api(CHANNELS.get(1));
    StatusRuntimeException refused =
        assertThrows(
            StatusRuntimeException.class,
            () ->
                other.submitJob(
                    SubmitJobRequest.newBuilder().setRequestId("once").setSpec(spec).build()));
    assertEquals(Status.Code.FAILED_PRECONDITION, refused.getStatus().getCode());
    String text = refused.getStatus().getDescription();
    assertTrue(text, text.contains("No module named 'tensorflow_ignite'"));
    assertTrue(text, text.contains("TENSORFLOW_IGNITE_PYTHON"));
    assertTrue(text, text.endsWith(" [code=NO_AGENT]"));
    assertEquals(0, other.listJobs(ListJobsRequest.getDefaultInstance()).getJobsCount());
  }

  @Test
  public void aJobWhoseOptionBreaksARuleIsRejectedByTheNameOfTheOption() {
    JobSpec.Builder spec = JobSpec.newBuilder().setScript("main.py").setReadRate("fast");
    spec.getStrategyBuilder().setKind(JOB_KIND_MULTI_WORKER_MIRRORED);
    refuse("read_rate is 'fast'", spec);
    Duration second = Duration.newBuilder().setSeconds(1).build();
    spec.clearReadRate().getRoundsBuilder().setWhenRows(5).setEvery(second);
    refuse("rounds.every is 1 s and rounds.when_rows is 5", spec);
    spec.getRoundsBuilder().clear().setReplay(1);
    refuse("rounds.replay is 1", spec);
    spec.clearRounds().setName("n".repeat(201));
    refuse("name has 201 characters", spec);
  }

  private static void refuse(String text, JobSpec.Builder spec) {
    StatusRuntimeException refused =
        assertThrows(
            StatusRuntimeException.class,
            () ->
                api(CHANNELS.get(0))
                    .submitJob(
                        SubmitJobRequest.newBuilder().setRequestId("r").setSpec(spec).build()));
    String found = refused.getStatus().getDescription();
    assertTrue(found, found.contains(text));
    assertTrue(found, found.endsWith(" [code=INVALID_REQUEST]"));
  }

  @Test
  public void codeThatDoesNotMatchItsDigestIsRejected() {
    String digest = Hashing.sha256().hashBytes(new byte[0]).toString();
    ExecutionException refused =
        assertThrows(ExecutionException.class, () -> upload(CHANNELS.get(0), digest));
    Status status = Status.fromThrowable(refused);
    assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode());
    assertTrue(status.getDescription(), status.getDescription().endsWith(" [code=CODE_INVALID]"));
  }

  private static void upload(ManagedChannel channel, String digest) throws Exception {
    FutureResponse<UploadCodeResponse> response = new FutureResponse<>();
    StreamObserver<UploadCodeRequest> chunks =
        NodeApiServiceGrpc.newStub(channel).uploadCode(response);
    chunks.onNext(
        UploadCodeRequest.newBuilder()
            .setDigest(digest)
            .setChunk(ByteString.copyFrom(CODE))
            .build());
    chunks.onCompleted();
    assertEquals(CODE.length, response.get(TIMEOUT_S, TimeUnit.SECONDS).getSize());
  }

  private static List<Node> nodesWithReason(ManagedChannel channel) {
    return Await.nonNull(
        "every node reports why it has no agent",
        () -> {
          List<Node> nodes =
              api(channel).listNodes(ListNodesRequest.getDefaultInstance()).getNodesList();
          return nodes.size() == NODES.size()
                  && nodes.stream().allMatch(node -> !node.getAgent().getError().isEmpty())
              ? nodes
              : null;
        });
  }

  private static NodeApiServiceGrpc.NodeApiServiceBlockingStub api(ManagedChannel channel) {
    return NodeApiServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
  }

  private static IgniteConfiguration configuration(String name, LoopbackNodes nodes) {
    TensorFlowService bean = new TensorFlowService();
    bean.getTimeouts().setLeaseSeconds(3);
    return nodes
        .configuration(name, FOLDER.getRoot().toPath())
        .setServiceConfiguration(NodeService.of(bean));
  }
}
