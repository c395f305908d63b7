package io.tensorflowignite.predict.decide;

import static io.tensorflowignite.v1.ModelState.MODEL_STATE_FAILED;
import static io.tensorflowignite.v1.ModelState.MODEL_STATE_LOADING;
import static io.tensorflowignite.v1.ModelState.MODEL_STATE_SERVING;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.BatchRule;
import io.tensorflowignite.v1.DeployModelRequest;
import io.tensorflowignite.v1.ModelDeployment;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.ModelState;
import io.tensorflowignite.v1.ModelStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.Test;

/**
 * Promise (prediction): A change of the chosen nodes fails no request.
 *
 * <p>Promise (prediction): A version that cannot be loaded changes nothing else.
 */
public class RolloverTest {
  private static final List<String> NODES = List.of("a", "b");
  private static final Timestamp NOW = Timestamps.fromMillis(1_000_000);
  private static final ModelDeployment ROW =
      ModelDeployment.newBuilder().setName("m").setCurrent(1).setTarget(2).build();

  @Test
  public void theNewVersionIsCurrentWhenAllNodesServeItAndTheOldOneStillServes() {
    assertEquals(Optional.empty(), next(ROW, MODEL_STATE_SERVING, MODEL_STATE_LOADING));
    ModelDeployment switched = next(ROW, MODEL_STATE_SERVING, MODEL_STATE_SERVING).get();
    assertEquals(2, switched.getCurrent());
    assertEquals(0, switched.getTarget());
    assertEquals(Set.of(1L, 2L), Rollover.versions(switched));
    Timestamp drained = Timestamps.add(NOW, Durations.fromMillis(Rollover.WARM.toMillis()));
    ModelDeployment alone = Rollover.next(switched, NODES, Map.of(), drained).get();
    assertEquals(Set.of(2L), Rollover.versions(alone));
    assertEquals(Optional.empty(), Rollover.next(alone, NODES, Map.of(), drained));
  }

  @Test
  public void theVersionBeforeIsWarmForARollbackUntilAnotherOneIsLoaded() {
    ModelDeployment switched = next(ROW, MODEL_STATE_SERVING, MODEL_STATE_SERVING).get();
    ModelDeployment back = Rollover.deploy(switched, request(1), "");
    assertEquals(1, back.getTarget());
    assertEquals(Set.of(1L, 2L), Rollover.versions(back));
    assertEquals(Set.of(2L, 3L), Rollover.versions(Rollover.deploy(switched, request(3), "")));
    assertEquals(Set.of(1L, 2L), Rollover.versions(Rollover.deploy(switched, request(2), "")));
  }

  @Test
  public void theCurrentVersionIsATargetUntilItServesOnAllNodes() {
    ModelDeployment switched = next(ROW, MODEL_STATE_SERVING, MODEL_STATE_SERVING).get();
    ModelDeployment wider = Rollover.deploy(switched, request(2), "");
    assertEquals(2, wider.getTarget());
    assertEquals(Optional.empty(), next(wider, MODEL_STATE_SERVING, MODEL_STATE_LOADING));
    ModelDeployment everywhere = next(wider, MODEL_STATE_SERVING, MODEL_STATE_SERVING).get();
    assertEquals(switched, everywhere.toBuilder().clearBatches().build());
  }

  @Test
  public void aVersionIsLoadedAnewForOtherLimitsOnlyBeforeItServes() {
    ModelDeployment loaded = ROW.toBuilder().setMemoryBytes(1).build();
    assertFalse(Rollover.isOutdated(2, loaded, loaded.toBuilder().setReplicas(1).build()));
    assertTrue(Rollover.isOutdated(2, loaded, ROW));
    BatchRule rule = BatchRule.newBuilder().setMaxRows(1).build();
    assertTrue(Rollover.isOutdated(2, loaded, loaded.toBuilder().setBatches(rule).build()));
    assertFalse(Rollover.isOutdated(1, loaded, ROW));
    ModelDeployment row = ROW.toBuilder().setPrevious(3).addKept(4).build();
    assertFalse(Rollover.isOutdated(3, loaded, row));
    assertFalse(Rollover.isOutdated(4, loaded, row));
    assertFalse(Rollover.isOutdated(3, loaded, row.toBuilder().setTarget(3).build()));
  }

  @Test
  public void aVersionThatCannotBeLoadedLeavesTheOldOneAndTheReason() {
    ModelStatus unusable =
        status(MODEL_STATE_FAILED).setUnusable(true).setError("no such op").build();
    ModelDeployment failed = Rollover.next(ROW, NODES, Map.of("b", List.of(unusable)), NOW).get();
    assertEquals(Set.of(1L), Rollover.versions(failed));
    assertEquals(2, failed.getFailed());
    assertEquals("on node b: no such op", failed.getError());
  }

  @Test
  public void aProcessThatHasNeverServedIsGivenUpAfterSomeRestarts() {
    ModelStatus.Builder crashed = status(MODEL_STATE_FAILED).setRestarts(Rollover.RESTARTS - 1);
    Map<String, List<ModelStatus>> once = Map.of("a", List.of(crashed.build()));
    assertEquals(Optional.empty(), Rollover.next(ROW, NODES, once, NOW));
    crashed.setRestarts(Rollover.RESTARTS);
    assertTrue(Rollover.next(ROW, NODES, Map.of("a", List.of(crashed.build())), NOW).isPresent());
    crashed.addSignatures(ModelSignature.newBuilder().setName("s"));
    Map<String, List<ModelStatus>> served = Map.of("a", List.of(crashed.build()));
    assertEquals(Optional.empty(), Rollover.next(ROW, NODES, served, NOW));
  }

  @Test
  public void aVersionThatIsKeptServesByItsNumber() {
    ModelDeployment keeping = ROW.toBuilder().setKeepPrevious(true).build();
    ModelDeployment switched = next(keeping, MODEL_STATE_SERVING, MODEL_STATE_SERVING).get();
    assertEquals(List.of(1L), switched.getKeptList());
    assertEquals(0, switched.getPrevious());
    ModelDeployment back = Rollover.deploy(switched, request(1), "");
    ModelStatus serving = status(MODEL_STATE_SERVING).setKey(key(1)).build();
    ModelDeployment again =
        Rollover.next(back, List.of("a"), Map.of("a", List.of(serving)), NOW).get();
    assertEquals(1, again.getCurrent());
    assertEquals(List.of(), again.getKeptList());
    assertEquals(2, again.getPrevious());
  }

  @Test
  public void aNodeThatWasChosenServesEachVersionUntilTheChosenNodesServeThatVersion() {
    ModelDeployment row =
        ROW.toBuilder().setCurrent(4).setPrevious(2).addKept(3).setTarget(5).build();
    assertEquals(Set.of(2L, 3L, 4L), needed(row, NODES));
    assertEquals(Set.of(2L, 3L), needed(row, NODES, 4));
    assertEquals(Set.of(2L, 4L), needed(row, NODES, 3));
    assertEquals(Set.of(), needed(row, NODES, 2, 3, 4));
    assertEquals(Set.of(3L), needed(row.toBuilder().clearPrevious().build(), NODES, 4));
    assertEquals("the last one is drained", Set.of(2L, 3L, 4L), needed(row, List.of()));
  }

  @Test
  public void aNodeThatWasChosenEndsWhatItCannotLoadItself() {
    ModelDeployment row = ROW.toBuilder().setCurrent(2).clearTarget().build();
    ModelStatus.Builder failed = status(MODEL_STATE_FAILED).setRestarts(Rollover.RESTARTS);
    assertFalse(Rollover.isNeeded(row, failed.build(), NODES, Map.of()));
    failed.addSignatures(ModelSignature.newBuilder().setName("s"));
    assertTrue(Rollover.isNeeded(row, failed.build(), NODES, Map.of()));
    assertTrue(Rollover.isNeeded(row, status(MODEL_STATE_LOADING).build(), NODES, Map.of()));
  }

  @Test
  public void aNodeThatJoinsChangesAtMostOneChoice() {
    List<String> nodes = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      Set<String> before = new HashSet<>(Replicas.of("m", nodes, 3));
      nodes.add(0, "node " + i);
      List<String> after = Replicas.of("m", nodes, 3);
      assertEquals(Math.min(3, i + 1), after.size());
      assertTrue(after.stream().filter(node -> !before.contains(node)).count() <= 1);
    }
    assertEquals(30, Replicas.of("m", nodes, 0).size());
  }

  @Test
  public void whatALaterDeploymentDoesNotNameStays() {
    BatchRule rule =
        BatchRule.newBuilder()
            .setMaxRows(32)
            .setMaxDelay(Durations.fromMillis(1_005))
            .setMaxWaitingRows(100)
            .build();
    DeployModelRequest named =
        request(3).toBuilder().setReplicas(2).setMemoryBytes(7).setBatches(rule).build();
    ModelDeployment first = Rollover.deploy(ModelDeployment.getDefaultInstance(), named, "alice");
    assertEquals(3, first.getTarget());
    ModelDeployment later = Rollover.deploy(first, request(4), "bob");
    assertEquals(first.toBuilder().setTarget(4).setOwner("bob").build(), later);
    assertEquals(rule, later.getBatches());
    BatchRule.Builder rows = BatchRule.newBuilder().setMaxRows(64);
    assertEquals(
        rule.toBuilder().setMaxRows(64).build(),
        Rollover.deploy(first, request(4).toBuilder().setBatches(rows).build(), "").getBatches());
    BatchRule.Builder delay = BatchRule.newBuilder().setMaxDelay(Durations.ZERO);
    assertEquals(
        rule.toBuilder().setMaxDelay(Durations.ZERO).build(),
        Rollover.deploy(first, request(4).toBuilder().setBatches(delay).build(), "").getBatches());
    DeployModelRequest all = request(4).toBuilder().setReplicas(0).setMemoryBytes(0).build();
    assertEquals(0, Rollover.deploy(first, all, "").getReplicas());
    assertEquals(0, Rollover.deploy(first, all, "").getMemoryBytes());
  }

  private static DeployModelRequest request(long number) {
    return DeployModelRequest.newBuilder().setKey(key(number)).build();
  }

  private static Optional<ModelDeployment> next(
      ModelDeployment row, ModelState first, ModelState second) {
    return Rollover.next(
        row,
        NODES,
        Map.of("a", List.of(status(first).build()), "b", List.of(status(second).build())),
        NOW);
  }

  /**
   * The versions that a node which is not chosen any more serves further.
   *
   * @param onChosen the versions that serve on each chosen node
   */
  private static Set<Long> needed(ModelDeployment row, List<String> chosen, long... onChosen) {
    List<ModelStatus> serving = new ArrayList<>();
    for (long number : onChosen) {
      serving.add(status(MODEL_STATE_SERVING).setKey(key(number)).build());
    }
    Map<String, List<ModelStatus>> states = new HashMap<>();
    chosen.forEach(node -> states.put(node, serving));
    return LongStream.rangeClosed(1, 9)
        .filter(
            number ->
                Rollover.isNeeded(
                    row, status(MODEL_STATE_SERVING).setKey(key(number)).build(), chosen, states))
        .boxed()
        .collect(Collectors.toSet());
  }

  private static ModelKey key(long number) {
    return ModelKey.newBuilder().setName("m").setNumber(number).build();
  }

  private static ModelStatus.Builder status(ModelState state) {
    return ModelStatus.newBuilder().setKey(key(2)).setState(state);
  }
}
