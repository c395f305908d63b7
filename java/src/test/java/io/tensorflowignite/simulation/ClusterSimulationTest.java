package io.tensorflowignite.simulation;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.tensorflowignite.simulation.SimulatedCluster.World;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.Test;

/**
 * Small clusters with random faults, one for each seed, with the rules of real nodes and virtual
 * time. {@code SIMULATION_SEEDS=n} is their number, and {@code SIMULATION_SEED=n} runs one of them
 * and prints its history.
 */
public class ClusterSimulationTest {
  private static final int SEEDS = 1_000;

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
    long seeds = number("SIMULATION_SEEDS", SEEDS);
    List<Long> faulty =
        LongStream.range(0, seeds)
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
}
