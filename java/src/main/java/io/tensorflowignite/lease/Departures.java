package io.tensorflowignite.lease;

import com.google.common.collect.EvictingQueue;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.LostNode;
import io.tensorflowignite.v1.Node;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.events.DiscoveryEvent;
import org.apache.ignite.events.EventType;

/**
 * The nodes that have left while this node was in the cluster. A node that is stopped in order says
 * that it leaves, after it has ended its tasks. A node that was killed, or is behind a cut, says
 * nothing: it is lost.
 */
public final class Departures {
  private static final String KEY = "tensorflow-ignite-departures";
  private static final int MAX_IN_ORDER = 10_000;
  private static final int MAX_LOST = 100;

  private final Queue<String> inOrder = EvictingQueue.create(MAX_IN_ORDER);

  /** By consistent id. */
  private Map<String, Node> seen = Map.of();

  /** By consistent id, in the order in which they were lost. */
  private final Map<String, LostNode> lost =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, LostNode> eldest) {
          return size() > MAX_LOST;
        }
      };

  private final KnownNodes known = new KnownNodes(System::nanoTime);
  private volatile Optional<Minority> minority = Optional.empty();

  Departures() {}

  /** The departures that this node observes, from the first call until the node stops. */
  public static Departures of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, Departures>nodeLocalMap()
        .computeIfAbsent(KEY, key -> listening(ignite));
  }

  private static Departures listening(Ignite ignite) {
    Departures departures = new Departures();
    ignite.events().enableLocal(EventType.EVT_NODE_LEFT);
    ignite
        .events()
        .localListen(
            event -> {
              departures.leftInOrder(((DiscoveryEvent) event).eventNode().id().toString());
              return true;
            },
            EventType.EVT_NODE_LEFT);
    return departures;
  }

  synchronized void leftInOrder(String nodeId) {
    inOrder.add(nodeId);
  }

  /** Compares the nodes that run the service now with the nodes of the last call. */
  synchronized void observe(List<Node> live) {
    Map<String, Node> now = new HashMap<>();
    live.forEach(node -> now.put(node.getConsistentId(), node));
    seen.forEach(
        (consistentId, node) -> {
          if (!now.containsKey(consistentId)) {
            lost.put(consistentId, lostNow(node));
          }
        });
    lost.keySet().removeAll(now.keySet());
    seen = now;
    minority = known.observe(live, Set.copyOf(inOrder));
  }

  /** Present while no majority of the nodes that this node last knew is here. */
  public Optional<Minority> minority() {
    return minority;
  }

  private static LostNode lostNow(Node node) {
    return LostNode.newBuilder()
        .setId(node.getId())
        .setConsistentId(node.getConsistentId())
        .setAddress(node.getAddress())
        .setLostAt(Timestamps.fromMillis(System.currentTimeMillis()))
        .build();
  }

  /** The ids of the last 10,000 nodes that were stopped in order. */
  public synchronized Set<String> inOrder() {
    return new HashSet<>(inOrder);
  }

  /** The last 100 nodes that were lost and are not back. */
  public synchronized List<LostNode> lost() {
    // Ignite reports an orderly end a moment after the node is gone.
    return lost.values().stream()
        .filter(node -> !inOrder.contains(node.getId()))
        .collect(Collectors.toList());
  }
}
