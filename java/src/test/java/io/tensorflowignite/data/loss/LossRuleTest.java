package io.tensorflowignite.data.loss;

import static org.junit.Assert.assertEquals;

import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.Test;

public class LossRuleTest {
  private static final UUID A = new UUID(0, 1);
  private static final UUID B = new UUID(0, 2);
  private static final UUID C = new UUID(0, 3);
  private static final int PARTITIONS = 6;

  private final Map<UUID, BitSet> before = new HashMap<>();
  private final Map<UUID, BitSet> after = new HashMap<>();
  private final Set<UUID> observers = new HashSet<>(Set.of(A, B, C));

  @Test
  public void aPartitionWithACompleteCopyElsewhereIsNotLost() {
    before(A, 0, 1);
    before(B, 0, 1);
    before(C, 0, 1);
    after(A, 0, 1);
    assertLost(A);
  }

  @Test
  public void aPartitionThatOnlyLeavingNodesHadIsLost() {
    before(A, 0, 1);
    before(B, 1, 2, 3);
    before(C, 3, 4);
    after(A, 0, 1, 2, 3, 4, 5);
    // Nobody is known to have had 5; yet this node has it only because nobody else does.
    assertLost(A, 2, 3, 4, 5);
  }

  @Test
  public void aCopyThatWasStillBeingMadeDoesNotCount() {
    before(A);
    before(B, 0);
    after(A, 0);
    assertLost(A, 0);
  }

  @Test
  public void eachObserverAnswersForItsOwnPartitions() {
    before(A, 0);
    before(B, 1);
    before(C, 2, 3);
    after(A, 0, 2);
    after(B, 1, 3);
    assertLost(A, 2);
    assertLost(B, 3);
  }

  @Test
  public void anOldViewOfAnotherObserverIsNoLoss() {
    before(A, 0);
    before(B);
    before(C, 1);
    after(A, 0);
    // B had completed its copy of 1 when C left, which A did not know yet.
    after(B, 1);
    assertLost(A);
  }

  @Test
  public void aNodeThatHasJustJoinedOrDoesNotObserveIsAnsweredFor() {
    before(A, 0);
    before(C, 1, 2);
    after(A, 0);
    after(B, 1, 2);
    assertLost(A, 1, 2);
    before(B);
    observers.remove(B);
    assertLost(A, 1, 2);
    observers.add(B);
    assertLost(A);
  }

  @Test
  public void aCacheWithoutAnyNodeIsLostToAll() {
    before(C, 0, 1);
    assertLost(A, 0, 1);
    assertLost(B, 0, 1);
  }

  private void before(UUID node, int... partitions) {
    before.put(node, set(partitions));
  }

  private void after(UUID node, int... partitions) {
    after.put(node, set(partitions));
  }

  private void assertLost(UUID self, int... partitions) {
    assertEquals(set(partitions), LossRule.lost(before, after, self, observers, PARTITIONS));
  }

  private static BitSet set(int... partitions) {
    BitSet set = new BitSet();
    for (int partition : partitions) {
      set.set(partition);
    }
    return set;
  }
}
