package io.tensorflowignite.ignite;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.pool.PoolProcessor;
import org.apache.ignite.internal.util.StripedExecutor;

/** Ignite's pools on this node for the application's gets and puts, and for thin clients. */
public final class WorkPools {
  private final StripedExecutor stripes;

  /** Of thin clients; null: the node serves none. */
  private final ThreadPoolExecutor clients;

  public WorkPools(Ignite ignite) {
    PoolProcessor pools = ((IgniteEx) ignite).context().pools();
    stripes = pools.getStripedExecutorService();
    ExecutorService thin = pools.getThinClientExecutorService();
    clients = thin instanceof ThreadPoolExecutor ? (ThreadPoolExecutor) thin : null;
  }

  /** The number of tasks that the pools have completed, those of {@link #execute} included. */
  public long completed() {
    return stripes.completedTasks() + (clients == null ? 0 : clients.getCompletedTaskCount());
  }

  /**
   * Runs a task on a thread of the pool for gets and puts, behind its other tasks.
   *
   * @param number the next one means the next thread
   * @throws RejectedExecutionException the node stops
   */
  public void execute(long number, Runnable task) {
    stripes.execute((int) (number % stripes.stripesCount()), task);
  }
}
