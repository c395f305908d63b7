package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.UnprovenAttempt;
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

  @Test
  public void aNodeInQuarantineGetsNoTaskUntilItsAgentHasProvenTheEndOfTheAttempt()
      throws Exception {
    try (Ignite node = Ignition.start(configuration())) {
      node.createCache("digits");
      NodeTable nodes = new NodeTable(node);
      Node here =
          Node.newBuilder()
              .setId(node.cluster().localNode().id().toString())
              .setConsistentId(node.cluster().localNode().consistentId().toString())
              .setAgent(AgentInfo.newBuilder().setPid(7))
              .build();
      nodes.put(
          here.toBuilder()
              .addQuarantine(UnprovenAttempt.newBuilder().setJobId("before").setAttempt(2))
              .build());
      JobTable jobs = new JobTable(node);
      jobs.insert(
          Job.newBuilder()
              .setId("waiting")
              .setState(JOB_STATE_PENDING)
              .setSpec(
                  JobSpec.newBuilder().setKind(JOB_KIND_MULTI_WORKER_MIRRORED).setCache("digits"))
              .build());
      node.services()
          .deployClusterSingleton(
              JobService.serviceName("waiting"),
              new JobService("waiting", new TensorFlowService().settings()));
      String expected =
          "node "
              + MessageText.shortId(here.getId())
              + " to leave its quarantine: the end of"
              + " attempt 2 of job before is not proven there";
      Await.until(
          "the job waits",
          () -> jobs.get("waiting").map(Job::getWaitingFor).filter(expected::equals).isPresent());
      nodes.put(here);
      Await.until(
          "the job is placed",
          () -> jobs.get("waiting").filter(job -> job.getAttemptsCount() == 1).isPresent());
    }
  }

  private static IgniteConfiguration configuration() throws IOException {
    return new LoopbackNodes(1).configuration("job-service", FOLDER.getRoot().toPath());
  }
}
