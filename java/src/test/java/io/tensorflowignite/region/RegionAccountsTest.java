package io.tensorflowignite.region;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.junit.Test;

public class RegionAccountsTest {
  private static final long MIB = 1L << 20;
  private static final UUID NODE = new UUID(0, 1);
  private static final UUID FULLER = new UUID(0, 2);

  /** 1,024 MiB, of which 102.4 MiB are reserved. */
  private static final RegionLimit LIMIT = new RegionLimit("default", 1024 * MIB);

  private int measurements;
  private long now = 5;
  private final Map<UUID, Long> used = new HashMap<>(Map.of(NODE, 0L, FULLER, 0L));
  private final RegionAccounts accounts = new RegionAccounts(this::measure, () -> now);

  private Map<UUID, Long> measure(Collection<UUID> nodes) {
    measurements++;
    Map<UUID, Long> measured = new HashMap<>(used);
    measured.keySet().retainAll(nodes);
    return measured;
  }

  private RegionAccounts.Full reserve(Purpose purpose, long bytes) {
    return accounts.reserve(
        purpose, Map.of(NODE, bytes, FULLER, bytes), Map.of(NODE, LIMIT, FULLER, LIMIT), 2);
  }

  private void store(long bytes) {
    assertNull(reserve(Purpose.DATA, bytes));
    accounts.release(Map.of(NODE, bytes, FULLER, bytes));
  }

  @Test
  public void manySmallWritesNeedOneMeasurement() {
    for (int write = 0; write < 1_000; write++) {
      store(MIB / 100);
    }
    assertEquals(1, measurements);
    now += RegionAccounts.MAX_AGE_NANOS;
    store(1);
    assertEquals(2, measurements);
  }

  @Test
  public void writesOnTheirWayTakeAShareOfWhatIsFree() {
    Map<UUID, RegionLimit> limits = Map.of(NODE, LIMIT);
    // Of 921.6 MiB, two writers may each have half on their way.
    assertNull(reserve(Purpose.DATA, 400 * MIB));
    assertFalse(accounts.exceedsShare(Map.of(NODE, 60 * MIB), limits, 2));
    assertTrue(accounts.exceedsShare(Map.of(NODE, 61 * MIB), limits, 2));
    accounts.release(Map.of(NODE, 400 * MIB, FULLER, 400 * MIB));
    assertFalse(accounts.exceedsShare(Map.of(NODE, 500 * MIB), limits, 2));
    assertNull(reserve(Purpose.DATA, MIB));
    assertTrue(accounts.exceedsShare(Map.of(NODE, 260 * MIB), limits, 2));
  }

  @Test
  public void whatWasWrittenSinceTheMeasurementCountsUntilTheNextOne() {
    int stored = 0;
    while (reserve(Purpose.DATA, 10 * MIB) == null) {
      accounts.release(Map.of(NODE, 10 * MIB, FULLER, 10 * MIB));
      stored += 10;
      used.put(FULLER, stored * MIB);
    }
    assertEquals(920, stored);
  }

  @Test
  public void writesThatHaveNotEndedCount() {
    for (int write = 0; write < 92; write++) {
      assertNull(reserve(Purpose.DATA, 10 * MIB));
    }
    assertEquals(920 * MIB, reserve(Purpose.DATA, 10 * MIB).used);
  }

  @Test
  public void rejectedWritesDoNotMeasureAgainAtOnce() {
    used.put(FULLER, 1000 * MIB);
    for (int write = 0; write < 100; write++) {
      RegionAccounts.Full full = reserve(Purpose.DATA, MIB);
      assertEquals("the node with too little memory", FULLER, full.node);
      assertEquals(1000 * MIB, full.used);
    }
    assertEquals(1, measurements);
    used.put(FULLER, 10 * MIB);
    now += RegionAccounts.REFUSED_AGE_NANOS;
    assertNull(reserve(Purpose.DATA, MIB));
  }

  @Test
  public void importantWritesUseTheReserveAndChangesOfStateMostOfIt() {
    used.put(FULLER, 930 * MIB);
    assertNotNull(reserve(Purpose.DATA, MIB));
    assertNull(reserve(Purpose.ENTRY, MIB));
    used.put(FULLER, 980 * MIB);
    now += RegionAccounts.MAX_AGE_NANOS;
    assertNotNull(reserve(Purpose.ENTRY, MIB));
    assertNull(reserve(Purpose.DECISION, MIB));
    used.put(FULLER, 1000 * MIB);
    now += RegionAccounts.MAX_AGE_NANOS;
    assertNotNull(reserve(Purpose.ENTRY, MIB));
    assertNotNull(reserve(Purpose.DECISION, MIB));
  }
}
