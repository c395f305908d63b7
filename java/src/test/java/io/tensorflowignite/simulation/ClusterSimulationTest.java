package io.tensorflowignite.simulation;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.tensorflowignite.Full;
import io.tensorflowignite.simulation.SimulatedCluster.World;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/**
 * Small clusters with random faults, one for each seed, with the rules of real nodes and virtual
 * time. {@code SIMULATION_SEEDS=n} is their number, and {@code SIMULATION_SEED=n} runs one of them
 * and prints its history.
 *
 * <p>Promise (jobs): Whatever fails, every job ends, and no two of its attempts run at once.
 */
public class ClusterSimulationTest {
  private static final int SEEDS = 400;
  private static final int MORE_SEEDS = 2_000;

  private static long number(String name, long other) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? other : Long.parseLong(value);
  }

  /** The fault of the cluster of a seed, or an empty text. */
  private static String fault(long seed, World world) {
    try {
      return new SimulatedCluster(new Simulation(seed, false), world).run();
    } catch (RuntimeException e) {
      throw new AssertionError("SIMULATION_SEED=" + seed + " of world " + world, e);
    }
  }

  private static String history(long seed) {
    Simulation simulation = new Simulation(seed, true);
    String fault = new SimulatedCluster(simulation, World.SOUND).run();
    return simulation.history() + fault;
  }

  @Test
  public void everyJobEndsAndNoTwoAttemptsRunAtOnceWhateverFails() {
    long only = number("SIMULATION_SEED", -1);
    if (only >= 0) {
      System.out.println(history(only));
      assertEquals("", fault(only, World.SOUND));
      return;
    }
    assertNoFaults(0, number("SIMULATION_SEEDS", SEEDS));
  }

  @Test
  @Category(Full.class)
  public void everyJobEndsAndNoTwoAttemptsRunAtOnceInManyMoreClusters() {
    assertNoFaults(SEEDS, SEEDS + MORE_SEEDS);
  }

  private static void assertNoFaults(long first, long end) {
    List<Long> faulty =
        LongStream.range(first, end)
            .filter(seed -> !fault(seed, World.SOUND).isEmpty())
            .boxed()
            .collect(Collectors.toList());
    if (!faulty.isEmpty()) {
      fail("seeds with a fault: " + faulty + "; the first: " + history(faulty.get(0)));
    }
  }

  @Test
  public void theSimulationFindsAgentsThatIgnoreTheLeaseOfAnAttempt() {
    assertTrue(
        LongStream.range(0, 500)
            .anyMatch(seed -> fault(seed, World.LEASES_ARE_IGNORED).contains("at once")));
  }

  @Test
  public void theSimulationFindsMembersThatAreRemovedFromMemory() {
    World world = World.MEMBERS_ARE_REMOVED_FROM_MEMORY;
    assertTrue(LongStream.range(0, 500).anyMatch(seed -> fault(seed, world).contains("at once")));
  }
}
