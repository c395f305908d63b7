package io.tensorflowignite.ignite;

import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;

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

  private static GridKernalContext context(Ignite ignite) {
    return ((IgniteEx) ignite).context();
  }
}
