package io.tensorflowignite.data.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.PlainNodes;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.StripedExecutor;
import org.junit.ClassRule;
import org.junit.Test;

/** The work of a real node is observed: whether there is any, and whether it waits. */
public class ItNodeLoad {
  private static final long SECONDS = 30;
  private static final long TICK = TimeUnit.MILLISECONDS.toNanos(2);

  /** No other class gives these nodes work. */
  @ClassRule public static final PlainNodes NODES = new PlainNodes(1);

  /** Observes as a stream does, and gives the stripes work, until the share is as expected. */
  private static void await(NodeLoad load, Runnable work, double share) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    for (double last = -1; last != share; last = load.share(System.nanoTime())) {
      assertTrue("the share is " + last, System.nanoTime() < end);
      work.run();
      LockSupport.parkNanos(TICK);
    }
  }

  @Test
  public void aStreamYieldsWhileOperationsWaitAndReadsAtFullSpeedWithoutThem() {
    NodeLoad load = new NodeLoad(NODES.node(0), new YieldRule());
    StripedExecutor stripes =
        ((IgniteEx) NODES.node(0)).context().pools().getStripedExecutorService();
    assertEquals(1, load.share(System.nanoTime()), 0);

    // Operations that take longer than an observation's interval: the next one waits.
    Runnable slow =
        () -> {
          for (int stripe = 0; stripe < stripes.stripesCount(); stripe++) {
            if (stripes.queueStripeSize(stripe) < 3) {
              stripes.execute(stripe, () -> LockSupport.parkNanos(5 * TICK));
            }
          }
        };
    await(load, slow, YieldRule.LEAST_SHARE);

    await(load, () -> {}, 1);
  }

  @Test
  public void theProbesOfAnIdleNodeAreNoWork() {
    NodeLoad load = new NodeLoad(NODES.node(0), new YieldRule());
    for (int i = 0; i < 500; i++) {
      assertEquals(1, load.share(System.nanoTime()), 0);
      LockSupport.parkNanos(TICK);
    }
  }
}
