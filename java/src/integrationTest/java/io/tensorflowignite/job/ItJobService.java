package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;

import io.tensorflowignite.Await;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.UnprovenAttempt;
import org.apache.ignite.Ignite;
import org.junit.ClassRule;
import org.junit.Test;

/**
 * One job's singleton on a real node.
 *
 * <p>Promise (jobs): A job whose row is still on its way is not missing.
 */
public class ItJobService {
  @ClassRule public static final PlainNodes NODES = new PlainNodes(1);

  private final Ignite node = NODES.node(0);
  private final JobTable jobs = new JobTable(node);

  @Test
  public void aServiceThatIsThereBeforeItsRowServesTheRowWhenItComes() {
    deploy("early");
    jobs.insert(Job.newBuilder().setId("early").setState(JOB_STATE_PENDING).build());
    String local = node.cluster().localNode().id().toString();
    Await.until(
        "the service serves its job",
        () -> jobs.get("early").map(Job::getServiceNodeId).filter(local::equals).isPresent());
  }

  @Test
  public void aNodeInQuarantineGetsNoTaskUntilItsAgentHasProvenTheEndOfTheAttempt() {
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
    jobs.insert(
        Job.newBuilder()
            .setId("waiting")
            .setState(JOB_STATE_PENDING)
            .setSpec(
                JobSpec.newBuilder()
                    .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_MULTI_WORKER_MIRRORED))
                    .setCache("digits"))
            .build());
    deploy("waiting");
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

  private void deploy(String job) {
    node.services()
        .deployClusterSingleton(
            JobService.serviceName(job), new JobService(job, new TensorFlowService().settings()));
  }
}
