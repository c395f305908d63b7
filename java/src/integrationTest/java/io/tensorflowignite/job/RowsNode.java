package io.tensorflowignite.job;

import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;

/**
 * A node of these tests with its API; its interpreter lacks our package, so that it has no agent.
 */
final class RowsNode implements AutoCloseable {
  private static final long TIMEOUT_S = 30;

  final Ignite ignite;
  private final ServiceSettings settings = ServiceSettings.withoutPackage();
  private final ManagedChannel channel;

  RowsNode(LoopbackNodes nodes, String name, Path folder) throws IOException {
    settings.before();
    ignite =
        Ignition.start(
            nodes
                .configuration(name, folder)
                .setServiceConfiguration(NodeService.of(new TensorFlowService())));
    channel = channel(NodeService.address(ignite));
  }

  static ManagedChannel channel(String address) {
    String[] parts = address.split(":");
    return NettyChannelBuilder.forAddress(parts[0], Integer.parseInt(parts[1]))
        .usePlaintext()
        .build();
  }

  NodeApiServiceGrpc.NodeApiServiceBlockingStub api() {
    return api(channel);
  }

  static NodeApiServiceGrpc.NodeApiServiceBlockingStub api(ManagedChannel channel) {
    return NodeApiServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
  }

  /** A job as the API lists it; empty: it is not listed. */
  Optional<Job> listed(String id) {
    return api().listJobs(ListJobsRequest.getDefaultInstance()).getJobsList().stream()
        .filter(job -> job.getId().equals(id))
        .findFirst();
  }

  Job described(String id) {
    return api().getJob(GetJobRequest.newBuilder().setJobId(id).build()).getJob();
  }

  /** The only node. */
  Node self() {
    return api().listNodes(ListNodesRequest.getDefaultInstance()).getNodes(0);
  }

  /** A system cache that takes keys and values of any type, as every client of Ignite can write. */
  IgniteCache<Object, Object> raw(SystemCache cache) {
    return ignite.cache(cache.cacheName());
  }

  @Override
  public void close() throws InterruptedException {
    channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    ignite.close();
    settings.after();
  }
}
