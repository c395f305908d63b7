package io.tensorflowignite.job;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** One job's singleton on a real node. */
public class ItJobService {
  private static final long TIMEOUT_S = 30;

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @Test
  public void aServiceThatIsThereBeforeItsRowServesTheRowWhenItComes() throws Exception {
    try (Ignite node = Ignition.start(configuration())) {
      JobTable jobs = new JobTable(node);
      node.services()
          .deployClusterSingleton(
              JobService.serviceName("early"),
              new JobService("early", new TensorFlowService().settings()));
      CompletableFuture<String> server = new CompletableFuture<>();
      try (AutoCloseable feed =
          jobs.listen(
              (id, job) -> {
                if (job != null && !job.getServiceNodeId().isEmpty()) {
                  server.complete(job.getServiceNodeId());
                }
              })) {
        jobs.insert(Job.newBuilder().setId("early").setState(JobState.PENDING).build());
        String local = node.cluster().localNode().id().toString();
        assertEquals(local, server.get(TIMEOUT_S, TimeUnit.SECONDS));
      }
    }
  }

  private static IgniteConfiguration configuration() throws IOException {
    return new LoopbackNodes(1).configuration("job-service", FOLDER.getRoot().toPath());
  }
}
