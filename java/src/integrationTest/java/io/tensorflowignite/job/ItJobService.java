package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import java.io.IOException;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** One job's singleton on a real node. */
public class ItJobService {
  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @Test
  public void aServiceThatIsThereBeforeItsRowServesTheRowWhenItComes() throws Exception {
    try (Ignite node = Ignition.start(configuration())) {
      JobTable jobs = new JobTable(node);
      node.services()
          .deployClusterSingleton(
              JobService.serviceName("early"),
              new JobService("early", new TensorFlowService().settings()));
      jobs.insert(Job.newBuilder().setId("early").setState(JOB_STATE_PENDING).build());
      String local = node.cluster().localNode().id().toString();
      Await.until(
          "the service serves its job",
          () -> jobs.get("early").map(Job::getServiceNodeId).filter(local::equals).isPresent());
    }
  }

  private static IgniteConfiguration configuration() throws IOException {
    return new LoopbackNodes(1).configuration("job-service", FOLDER.getRoot().toPath());
  }
}
