package io.tensorflowignite.simulation;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.tensorflowignite.simulation.SimulatedCluster.World;
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

  private static String history(long seed, World world) {
    Simulation simulation = new Simulation(seed, true);
    String fault = new SimulatedCluster(simulation, world).run();
    return simulation.history() + fault;
  }

  @Test
  public void everyJobEndsAndNoTwoAttemptsRunAtOnceWhateverFails() {
    World world = World.valueOf(System.getenv().getOrDefault("SIMULATION_WORLD", "SOUND"));
    long only = number("SIMULATION_SEED", -1);
    if (only >= 0) {
      System.out.println(history(only, world));
      assertEquals("", fault(only, world));
      return;
    }
    long seeds = number("SIMULATION_SEEDS", SEEDS);
    int faults = 0;
    String first = "";
    for (long seed = 0; seed < seeds; seed++) {
      String fault = fault(seed, world);
      if (!fault.isEmpty()) {
        if (System.getenv("SIMULATION_LIST") != null) {
          System.out.println(seed + " " + fault.substring(0, Math.min(fault.length(), 300)));
        }
        faults++;
        if (first.isEmpty()) {
          first = "SIMULATION_SEED=" + seed + ": " + fault + "\n" + history(seed, world);
        }
      }
    }
    if (faults > 0) {
      fail(faults + " of " + seeds + " seeds have a fault; the first: " + first);
    }
  }

  @Test
  public void theSimulationFindsAgentsThatIgnoreTheLeaseOfAnAttempt() {
    for (long seed = 0; seed < 500; seed++) {
      if (fault(seed, World.LEASES_ARE_IGNORED).contains("at once")) {
        return;
      }
    }
    fail("no seed has found it");
  }

  @Test
  public void aSeedIsOneHistory() {
    String history = history(7, World.SOUND);
    assertTrue(history.length() > 1_000);
    assertEquals(history, history(7, World.SOUND));
  }
}
