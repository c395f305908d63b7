package io.tensorflowignite.node;

import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;

import com.google.common.base.Strings;
import com.google.common.util.concurrent.Uninterruptibles;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.data.loss.RestoredCopies;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeLoop;
import io.tensorflowignite.v1.UnprovenAttempt;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.TimeZone;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/**
 * This node's row in the node table. A thread compares the row with the state of the node: its
 * agent, its loops that have failed or are silent, and its quarantine. It writes the row if they
 * differ, so it also repairs the row if a write was lost, or another client has changed it. Every
 * second it observes the loops and the quarantine, which report no changes. It compares the whole
 * row after a change, and every five seconds.
 */
final class NodeRow implements AutoCloseable {
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration COMPARE_INTERVAL = Duration.ofSeconds(5);
  private static final Duration PASS_LIMIT = Duration.ofSeconds(30);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final NodeTable nodes;
  private final RestoredCopies copies;
  private final Loops loops;
  private final Supplier<List<UnprovenAttempt>> quarantine;
  private final Loop loop;
  private final Semaphore changes = new Semaphore(0);
  private final Thread thread = new Thread(this::run, "tensorflow-ignite-node-row");
  private volatile Node self;
  private List<UnprovenAttempt> published = List.of();
  private boolean due;
  private long comparedAt;
  private volatile boolean closed;

  NodeRow(
      Ignite ignite,
      NodeTable nodes,
      Loops loops,
      RestoredCopies copies,
      Supplier<List<UnprovenAttempt>> quarantine,
      String address,
      String httpAddress,
      int maxTasks) {
    this.copies = copies;
    this.nodes = nodes;
    this.quarantine = quarantine;
    this.loops = loops;
    this.loop = loops.continuous("node row", PASS_LIMIT, () -> closed);
    ClusterNode local = ignite.cluster().localNode();
    String version = NodeRow.class.getPackage().getImplementationVersion();
    self =
        Node.newBuilder()
            .setId(local.id().toString())
            .setConsistentId(String.valueOf(local.consistentId()))
            .setOrder(local.order())
            .setAddress(address)
            .setHttpAddress(httpAddress)
            .setMaxTasks(maxTasks)
            .setServesModels(true)
            .setHostName(hostName())
            .setTimeZone(TimeZone.getDefault().getID())
            .setPluginVersion(Strings.nullToEmpty(version))
            .build();
  }

  /** Writes the row, and keeps it up to date from then on. */
  void start() {
    publish();
    thread.start();
  }

  String id() {
    return self.getId();
  }

  String address() {
    return self.getAddress();
  }

  synchronized void agent(AgentInfo agent) {
    Node.Builder row = self.toBuilder().setAgent(agent);
    if (agent.getPid() != 0) {
      row.clearGpus().addAllGpus(agent.getGpusList());
    }
    self = row.build();
    changes.release();
  }

  /** Jobs place no more tasks on this node. */
  synchronized void stopping() {
    self = self.toBuilder().setAvailability(NODE_AVAILABILITY_STOPPING).build();
    publish();
  }

  @Override
  public void close() {
    closed = true;
    changes.release();
    Uninterruptibles.joinUninterruptibly(thread, CLOSE_TIMEOUT);
  }

  private void run() {
    loop.run(
        INTERVAL,
        () -> {
          boolean changed = changes.tryAcquire(INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
          changes.drainPermits();
          if (changed || isDue()) {
            publish();
          }
        });
  }

  private synchronized boolean isDue() {
    return due
        || System.nanoTime() - comparedAt >= COMPARE_INTERVAL.toNanos()
        || !loops.faults().isEmpty()
        || !quarantine.get().equals(published);
  }

  private synchronized void publish() {
    // Also if it fails.
    due = true;
    Node stored = nodes.get(self.getId()).orElse(Node.getDefaultInstance());
    if (self.getAvailability() != NODE_AVAILABILITY_STOPPING) {
      // Any node may have drained this one.
      self = self.toBuilder().setAvailability(stored.getAvailability()).build();
    }
    List<NodeLoop> faults = loops.faults();
    List<UnprovenAttempt> unproven = quarantine.get();
    Node now =
        self.toBuilder()
            .addAllLoops(faults)
            .addAllQuarantine(unproven)
            .addAllRestoredCaches(copies.here())
            .build();
    if (!now.equals(stored) && !lasting(now).equals(lasting(stored))) {
      nodes.put(now);
    }
    due = !faults.isEmpty();
    published = unproven;
    comparedAt = System.nanoTime();
  }

  /** The row without what changes with each failed pass. */
  private static Node lasting(Node node) {
    Node.Builder lasting = node.toBuilder();
    for (NodeLoop.Builder fault : lasting.getLoopsBuilderList()) {
      fault.clearCompletedAt().clearFailures();
    }
    return lasting.build();
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "";
    }
  }
}
