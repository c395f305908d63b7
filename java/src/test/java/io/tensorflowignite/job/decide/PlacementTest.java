package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_CUSTOM;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_ONE;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Gpu;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Task;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.Test;

public class PlacementTest {
  private final Map<Node, List<Integer>> owners = new LinkedHashMap<>();

  public PlacementTest() {
    owners.put(node("first"), List.of(0, 3));
    owners.put(node("second"), List.of(1, 2));
  }

  @Test
  public void mirroredJobHasOneWorkerBesideEachOwnerInJoiningOrder() {
    assertEquals(
        List.of("worker 0 on first reads [0, 3]", "worker 1 on second reads [1, 2]"),
        texts(spec(JOB_KIND_MULTI_WORKER_MIRRORED)));
  }

  @Test
  public void parameterServersAreSpreadOverTheNodesAndTheClientIsWithItsService() {
    assertEquals(
        List.of(
            "worker 0 on first reads [0, 3]",
            "worker 1 on second reads [1, 2]",
            "ps 0 on first reads []",
            "ps 1 on second reads []",
            "ps 2 on first reads []",
            "client 0 on service reads []"),
        texts(changed(JOB_KIND_PARAMETER_SERVER, spec -> spec.getStrategyBuilder().setServers(3))));
  }

  @Test
  public void workersOfOneNodeShareItsPartitions() {
    owners.put(node("third"), List.of(4));
    assertEquals(
        List.of(
            "worker 0 on first reads [0]",
            "worker 1 on first reads [3]",
            "worker 2 on second reads [1]",
            "worker 3 on second reads [2]",
            "worker 4 on third reads [4]"),
        texts(
            changed(
                JOB_KIND_MULTI_WORKER_MIRRORED, spec -> spec.getWorkersBuilder().setPerNode(2))));
  }

  @Test
  public void aNodeHasAsManyWorkersAsItHasGpusForThem() {
    Node node =
        node("first").toBuilder().addGpus(gpu("0")).addGpus(gpu("1")).addGpus(gpu("2")).build();
    JobSpec.Builder spec =
        changed(JOB_KIND_MULTI_WORKER_MIRRORED, three -> three.getWorkersBuilder().setPerNode(3));
    Map<Node, List<Integer>> readers = Map.of(node, List.of(0, 1, 2, 3));
    spec.getWorkersBuilder().setGpus(1);
    assertEquals(3, place(spec.build(), readers).workers());
    spec.getWorkersBuilder().setGpus(2);
    Placement two = place(spec.build(), readers);
    assertEquals(1, two.workers());
    assertEquals(Map.of(Resource.tasks("first"), 1, Resource.gpus("first"), 2), two.needs());
  }

  private static Gpu gpu(String id) {
    return Gpu.newBuilder().setId(id).build();
  }

  @Test
  public void namedRolesOfACustomJobReadNothingAndAreSpreadOverTheNodes() {
    assertEquals(
        List.of(
            "worker 0 on first reads [0, 3]",
            "worker 1 on second reads [1, 2]",
            "actor 0 on first reads []",
            "actor 1 on second reads []",
            "learner 0 on first reads []"),
        texts(
            changed(
                JOB_KIND_CUSTOM,
                spec -> spec.getStrategyBuilder().putRoles("learner", 1).putRoles("actor", 2))));
  }

  @Test
  public void nodesReadTheirOwnPartitionsAndThoseOfTheOthersAreSpreadEvenly() {
    Node third = node("third");
    owners.put(third, List.of(4, 5, 6, 7));
    Node fresh = node("fresh");
    List<Node> candidates = List.of(node("first"), third, fresh);
    Map<Node, List<Integer>> readers = Placement.readers(owners, candidates);
    assertEquals(List.of(0, 3), readers.get(node("first")));
    assertEquals(List.of(4, 5, 6, 7), readers.get(third));
    assertEquals(List.of(1, 2), readers.get(fresh));
    assertEquals(
        "a node without a partition gets no worker",
        List.of(node("first")),
        List.copyOf(
            Placement.readers(Map.of(node("first"), List.of(0)), List.of(node("first"), fresh))
                .keySet()));
  }

  @Test
  public void jobOfOneProcessReadsAllPartitionsOnItsNode() {
    Map<Node, List<Integer>> readers = Placement.readers(owners, List.of(node("second")));
    assertEquals(
        List.of("worker 0 on second reads [0, 1, 2, 3]"), texts(spec(JOB_KIND_ONE), readers));
  }

  @Test
  public void differentAssignmentsHaveDifferentDigests() {
    JobSpec spec = JobSpec.newBuilder().setCache("digits").build();
    String digest = place(spec, owners).digest;
    assertEquals(
        "the client process reads nothing",
        digest,
        Placement.of(spec, owners, List.of(), node("elsewhere"), List.of()).digest);
    assertNotEquals(digest, place(spec.toBuilder().setCache("letters").build(), owners).digest);
    owners.put(node("second"), List.of(1));
    assertNotEquals(digest, place(spec, owners).digest);
  }

  private static JobSpec.Builder changed(JobKind kind, Consumer<JobSpec.Builder> change) {
    JobSpec.Builder spec = spec(kind);
    change.accept(spec);
    return spec;
  }

  private static JobSpec.Builder spec(JobKind kind) {
    return JobSpec.newBuilder().setStrategy(Strategy.newBuilder().setKind(kind)).setCache("digits");
  }

  private List<String> texts(JobSpec.Builder spec) {
    return texts(spec, owners);
  }

  private static List<String> texts(JobSpec.Builder spec, Map<Node, List<Integer>> readers) {
    return place(spec.build(), readers).tasks.stream()
        .map(PlacementTest::text)
        .collect(Collectors.toList());
  }

  private static String text(Task task) {
    return MessageText.name(task)
        + " on "
        + task.getNodeId()
        + " reads "
        + task.getPartitionsList();
  }

  private static Node node(String id) {
    return Node.newBuilder().setId(id).build();
  }

  private static Placement place(JobSpec spec, Map<Node, List<Integer>> owners) {
    return Placement.of(
        spec, owners, List.copyOf(owners.keySet()), node("service"), Collections.emptyList());
  }
}
