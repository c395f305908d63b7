package io.tensorflowignite.data.change;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.PartitionPosition;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.Test;

/** The bounded log of the keys of a partition that have changed. */
public final class PartitionLogTest {
  private static final long LIMIT = 100;

  private final ChangeMemory memory = new ChangeMemory(1 << 20);
  private final PartitionLog log = new PartitionLog(3, memory);

  @Test
  public void aPositionHasTheKeysThatChangeAfterItAndEachOnce() {
    add(1, 2);
    PartitionPosition position = log.position();
    assertEquals(List.of(), since(position).get());
    add(3, 2, 3);
    assertEquals(List.of(3L, 2L), since(position).get());
    assertTrue(log.hasChanged(position));
    assertFalse(log.hasChanged(log.position()));
  }

  @Test
  public void aReadUpToAPositionLeavesLaterChangesToTheNextOne() {
    PartitionPosition first = log.position();
    add(1, 2);
    PartitionPosition second = log.position();
    add(2, 3);
    assertEquals(List.of(1L, 2L), new ArrayList<>(log.between(first, second).get()));
    assertEquals(List.of(2L, 3L), since(second).get());
  }

  @Test
  public void theOldestChangesAreDroppedAndPositionsBeforeThemAreNotValid() {
    PartitionPosition first = log.position();
    add(1);
    PartitionPosition second = log.position();
    for (long key = 2; key <= LIMIT + 1; key++) {
      add(key);
    }
    assertEquals(Optional.empty(), since(first));
    assertEquals(LIMIT, since(second).get().size());
    assertTrue(log.hasChanged(first));
  }

  @Test
  public void aSmallerLimitDropsWhatIsOlder() {
    for (long key = 0; key < LIMIT; key++) {
      add(key);
    }
    PartitionPosition position = before(log.position(), 2);
    log.add(1_000L, 3, 0, 0);
    assertEquals(List.of(98L, 99L, 1_000L), since(position).get());
    assertEquals(Optional.empty(), since(before(position, 1)));
  }

  @Test
  public void aLogThatIsForgottenHasNoValidPositionBefore() {
    add(1);
    PartitionPosition position = log.position();
    log.forget();
    assertEquals(Optional.empty(), since(position));
    add(2);
    assertEquals(Optional.empty(), since(position));
    assertEquals(List.of(2L), since(before(log.position(), 1)).get());
  }

  @Test
  public void withoutMemoryNothingIsKeptAndNothingIsWrong() {
    ChangeMemory small = new ChangeMemory(3 * ChangeMemory.sizeOf(1L));
    PartitionLog full = new PartitionLog(3, small);
    PartitionPosition position = full.position();
    for (long key = 0; key < 4; key++) {
      full.add(key, LIMIT, 1, 0);
    }
    assertEquals(Optional.empty(), full.between(position, full.position()));
    assertTrue(full.between(full.position(), full.position()).get().isEmpty());
    full.add(5L, LIMIT, 1, 0);
    PartitionPosition end = full.position();
    assertEquals(List.of(5L), new ArrayList<>(full.between(before(end, 1), end).get()));
    full.forget();
    assertTrue(small.reserve(3 * ChangeMemory.sizeOf(1L)));
  }

  @Test
  public void theExpectedRowsFollowFromWhatWasCreatedAndRemoved() {
    log.add(1L, LIMIT, 1, 0);
    log.add(2L, LIMIT, 1, 0);
    log.add(1L, LIMIT, 0, 0);
    log.add(2L, LIMIT, -1, 50);
    assertEquals(11, log.expected(10));
    assertFalse(log.isQuiet(99, 50));
    assertTrue(log.isQuiet(100, 50));
  }

  @Test
  public void largeKeysTakeMoreMemory() {
    assertTrue(ChangeMemory.sizeOf("x".repeat(1_000)) > 2_000);
    assertTrue(ChangeMemory.sizeOf(new byte[1_000]) > 1_000);
    assertTrue(ChangeMemory.sizeOf(new Object()) > 0);
  }

  @Test
  public void changesAreNotCountedFromAPositionBeforeALogThatIsForgotten() {
    add(1);
    PartitionPosition position = log.position();
    assertEquals(3, position.getPartition());
    add(2);
    assertEquals(position.getFeed(), log.position().getFeed());
    log.forget();
    assertNotEquals(position.getFeed(), log.position().getFeed());
    assertNotEquals(0, log.position().getFeed());
  }

  private static PartitionPosition before(PartitionPosition position, long changes) {
    return position.toBuilder().setSequence(position.getSequence() - changes).build();
  }

  private void add(long... keys) {
    for (long key : keys) {
      log.add(key, LIMIT, 0, 0);
    }
  }

  private Optional<List<Object>> since(PartitionPosition position) {
    return log.between(position, log.position()).map(ArrayList::new);
  }
}
