package io.tensorflowignite.ignite;

import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.worker.GridWorker;
import org.apache.ignite.internal.worker.WorkersRegistry;

/** This node, also before it has joined its cluster and while it stops. */
public final class LocalNode {
  private LocalNode() {}

  public static UUID id(Ignite ignite) {
    return context(ignite).localNodeId();
  }

  /** Adds an attribute of this node, which joins later; then all nodes know it. */
  public static void addAttribute(Ignite ignite, String name, Object value) {
    context(ignite).addNodeAttribute(name, value);
  }

  public static boolean isStopping(Ignite ignite) {
    return context(ignite).isStopping();
  }

  /** Whether the cluster is active for programs; does not wait for a change of its state. */
  public static boolean isActive(Ignite ignite) {
    return context(ignite).state().publicApiActiveState(false);
  }

  /** The kind of the failure after which Ignite cannot continue on this node; empty: none. */
  public static Optional<String> failure(Ignite ignite) {
    return Optional.ofNullable(context(ignite).failure().failureContext())
        .map(failure -> failure.type().toString());
  }

  /** A thread without which Ignite cannot work, and which shows no sign of life for a time. */
  public static Optional<String> stuckThread(Ignite ignite, Duration limit) {
    WorkersRegistry workers = context(ignite).workersRegistry();
    long oldest = System.currentTimeMillis() - limit.toMillis();
    for (String name : workers.names()) {
      GridWorker worker = workers.worker(name);
      // A thread that may wait for any time has a time in the future.
      if (worker != null && worker.heartbeatTs() < oldest) {
        return Optional.of(worker.name());
      }
    }
    return Optional.empty();
  }

  private static GridKernalContext context(Ignite ignite) {
    return ((IgniteEx) ignite).context();
  }
}
