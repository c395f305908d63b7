package io.tensorflowignite.job;

import com.google.common.collect.EvictingQueue;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import org.apache.ignite.Ignite;
import org.apache.ignite.events.DiscoveryEvent;
import org.apache.ignite.events.EventType;

/**
 * The nodes that were stopped in order while this node was in the cluster. Such a node says that it
 * leaves, after it has ended its tasks; a node that was killed, or is behind a cut, says nothing.
 */
public final class Departures {
  private static final String KEY = "tensorflow-ignite-departures";
  private static final int MAX_KNOWN = 10_000;

  private final Queue<String> inOrder = EvictingQueue.create(MAX_KNOWN);

  private Departures(Ignite ignite) {
    ignite.events().enableLocal(EventType.EVT_NODE_LEFT);
    ignite
        .events()
        .localListen(
            event -> {
              note(((DiscoveryEvent) event).eventNode().id().toString());
              return true;
            },
            EventType.EVT_NODE_LEFT);
  }

  /** The departures that this node observes, from the first call until the node stops. */
  public static Departures of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, Departures>nodeLocalMap()
        .computeIfAbsent(KEY, key -> new Departures(ignite));
  }

  private synchronized void note(String nodeId) {
    inOrder.add(nodeId);
  }

  /** The ids of the last 10,000 nodes that were stopped in order. */
  synchronized Set<String> inOrder() {
    return new HashSet<>(inOrder);
  }
}
