package io.tensorflowignite.lease;

import io.tensorflowignite.Await;
import io.tensorflowignite.Full;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/** Rounds of calls between real nodes. */
@Category(Full.class)
public class ItContactRounds {
  private static final String SERVICE = "contact";
  private static final Duration LEASE = Duration.ofSeconds(6);
  private static final Map<String, ContactRounds> ROUNDS = new ConcurrentHashMap<>();
  private static final Map<String, Contacts> CONTACTS = new ConcurrentHashMap<>();
  private static final AtomicInteger SHORT = new AtomicInteger();
  private static final AtomicInteger REFUSED = new AtomicInteger();
  private static final AtomicInteger LONG = new AtomicInteger();

  @ClassRule public static final PlainNodes NODES = new PlainNodes(3);

  /** Passes calls on, as {@code TensorFlowService} does, and counts them. */
  public static final class Counted implements Service, NodeContact {
    private static final long serialVersionUID = 1L;

    @IgniteInstanceResource private transient Ignite ignite;

    @Override
    public void contact(String caller, String[] answered) {
      LONG.incrementAndGet();
      CONTACTS.get(consistentId(ignite)).add(caller, Set.of(answered));
    }

    @Override
    public boolean contactAllBut(String caller, String nodesDigest, String[] silent) {
      SHORT.incrementAndGet();
      boolean known = ROUNDS.get(consistentId(ignite)).contactAllBut(caller, nodesDigest, silent);
      if (!known) {
        REFUSED.incrementAndGet();
      }
      return known;
    }
  }

  @Test
  public void nodesThatKnowTheSameNodesNameOnlyTheSilentOnes() {
    List<Ignite> nodes = List.of(NODES.node(0), NODES.node(1), NODES.node(2));
    NODES.node(0).services().deployNodeSingleton(SERVICE, new Counted());
    Job.Builder job = Job.newBuilder().setId("job");
    for (Ignite node : nodes) {
      job.addMembers(row(node));
      new NodeTable(node).put(row(node).toBuilder().setMaxTasks(1).build());
    }
    for (Ignite node : nodes) {
      begin(node);
    }
    Await.until("short calls are made", () -> SHORT.get() - REFUSED.get() > 10);
    // No call names all nodes once they know each other, except a call to a node that was late.
    Await.until(
        "short calls are enough",
        () -> {
          int before = LONG.get();
          int calls = SHORT.get();
          Await.until("more short calls are made", () -> SHORT.get() > calls + 10);
          return LONG.get() == before;
        });
    for (Contacts contacts : CONTACTS.values()) {
      Await.until("the lease holds", () -> contacts.leaseEnd(job.build()) > System.nanoTime());
    }
    ROUNDS.values().forEach(ContactRounds::close);
  }

  private static void begin(Ignite node) {
    Contacts contacts = new Contacts(consistentId(node), LEASE, System::nanoTime);
    ContactRounds rounds =
        new ContactRounds(
            node, SERVICE, NodeTable.copied(node), contacts, () -> true, LEASE, Loops.of(node));
    CONTACTS.put(consistentId(node), contacts);
    ROUNDS.put(consistentId(node), rounds);
    rounds.start();
  }

  private static String consistentId(Ignite node) {
    return node.cluster().localNode().consistentId().toString();
  }

  private static Node row(Ignite node) {
    ClusterNode local = node.cluster().localNode();
    return Node.newBuilder()
        .setId(local.id().toString())
        .setConsistentId(consistentId(node))
        .setOrder(local.order())
        .build();
  }
}
