package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Task;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.Test;

public class PlacementTest {
  private final Map<Node, List<Integer>> owners = new LinkedHashMap<>();

  public PlacementTest() {
    owners.put(node("first"), Arrays.asList(0, 3));
    owners.put(node("second"), Arrays.asList(1, 2));
  }

  @Test
  public void mirroredJobHasOneWorkerBesideEachOwnerInJoiningOrder() {
    assertEquals(
        Arrays.asList("worker 0 on first reads [0, 3]", "worker 1 on second reads [1, 2]"),
        texts(
            JobSpec.newBuilder()
                .setKind(JOB_KIND_MULTI_WORKER_MIRRORED)
                .setCache("digits")
                .build()));
  }

  @Test
  public void parameterServersAreSpreadOverTheNodesAndTheClientIsWithItsService() {
    assertEquals(
        Arrays.asList(
            "worker 0 on first reads [0, 3]",
            "worker 1 on second reads [1, 2]",
            "ps 0 on first reads []",
            "ps 1 on second reads []",
            "ps 2 on first reads []",
            "client 0 on service reads []"),
        texts(JobSpec.newBuilder().setKind(JOB_KIND_PARAMETER_SERVER).setPsCount(3).build()));
  }

  @Test
  public void differentAssignmentsHaveDifferentDigests() {
    JobSpec spec = JobSpec.newBuilder().setCache("digits").build();
    String digest = Placement.of(spec, owners, node("service"), Collections.emptyList()).digest();
    assertEquals(
        digest, Placement.of(spec, owners, node("elsewhere"), Collections.emptyList()).digest());
    assertNotEquals(
        digest,
        Placement.of(
                spec.toBuilder().setCache("letters").build(),
                owners,
                node("service"),
                Collections.emptyList())
            .digest());
    owners.put(node("second"), Arrays.asList(1));
    assertNotEquals(
        digest, Placement.of(spec, owners, node("service"), Collections.emptyList()).digest());
  }

  private List<String> texts(JobSpec spec) {
    return Placement.of(spec, owners, node("service"), Collections.emptyList()).tasks().stream()
        .map(PlacementTest::text)
        .collect(Collectors.toList());
  }

  private static String text(Task task) {
    return MessageText.role(task.getRole())
        + " "
        + task.getIndex()
        + " on "
        + task.getNodeId()
        + " reads "
        + task.getPartitionsList();
  }

  private static Node node(String id) {
    return Node.newBuilder().setId(id).build();
  }
}
