package io.tensorflowignite.lease;

import com.google.common.collect.Sets;
import com.google.common.util.concurrent.Uninterruptibles;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * The oldest node calls all nodes, about twice a second, so that each knows who is connected. If it
 * is silent, the next oldest does so: node n of the order begins when no older node has called it
 * for n + 1 rounds. Two at once do no harm. While there is no job, nobody needs a lease, and nobody
 * calls; the first rounds for a job follow one another at once, so that its tasks do not wait.
 */
public final class ContactRounds implements AutoCloseable {
  private static final int ROUNDS_IN_A_LEASE = 12;

  /** A lease begins with the third call, see {@link Contacts}. */
  private static final int FIRST_ROUNDS = 3;

  private static final Duration FIRST_INTERVAL = Duration.ofMillis(10);

  /** Slow answers are awaited for a quarter of a lease. */
  private static final int WAITS_IN_A_LEASE = 4;

  /**
   * A call to a silent node keeps a thread until its timeout; calls to other nodes must not wait.
   */
  private static final int MAX_THREADS = 256;

  private static final Duration ERROR_PAUSE = Duration.ofMillis(500);
  private static final Duration PASS_LIMIT = Duration.ofMinutes(1);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final Ignite ignite;
  private final String serviceName;
  private final NodeTable nodes;
  private final Contacts contacts;
  private final Departures departures;
  private final BooleanSupplier hasJobs;
  private final Duration interval;
  private final Duration wait;
  private final String self;
  private final Loop loop;
  private final Thread thread = new Thread(this::run, "tensorflow-ignite-contacts");
  private final ExecutorService calls;
  private final Set<String> pending = ConcurrentHashMap.newKeySet();
  private final Semaphore changes = new Semaphore(0);
  private volatile boolean closed;

  /** The moment since which there is a job. */
  private OptionalLong neededSince = OptionalLong.empty();

  /** Of this node, since then. */
  private int rounds;

  private List<Node> live = List.of();

  /** Of {@link #live}. */
  private volatile NodeSet known = NodeSet.NONE;

  /** The nodes that have answered the last round; answers come until the next one begins. */
  private Set<String> answers = ConcurrentHashMap.newKeySet();

  /** The nodes of the last round. For those that have not answered it, the next does not wait. */
  private Set<String> called = Set.of();

  /**
   * @param serviceName the name under which the service is deployed, which implements {@link
   *     NodeContact}
   * @param hasJobs whether there is a job that is not over
   */
  public ContactRounds(
      Ignite ignite,
      String serviceName,
      NodeTable nodes,
      Contacts contacts,
      BooleanSupplier hasJobs,
      Duration lease,
      Loops loops) {
    this.ignite = ignite;
    this.serviceName = serviceName;
    this.nodes = nodes;
    this.contacts = contacts;
    this.departures = Departures.of(ignite);
    this.hasJobs = hasJobs;
    this.interval = lease.dividedBy(ROUNDS_IN_A_LEASE);
    this.wait = lease.dividedBy(WAITS_IN_A_LEASE);
    this.self = ignite.cluster().localNode().consistentId().toString();
    this.loop = loops.continuous("contacts", PASS_LIMIT, () -> closed);
    this.calls = IdleThreads.pool("tensorflow-ignite-contact-%d", MAX_THREADS);
  }

  public void start() {
    thread.start();
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    calls.shutdownNow();
    Uninterruptibles.joinUninterruptibly(thread, CLOSE_TIMEOUT);
  }

  /** Takes a call, see {@link NodeContact#contactAllBut}. */
  public boolean contactAllBut(String caller, String nodesDigest, String[] silent) {
    NodeSet nodesHere = known;
    if (!nodesHere.digest.equals(nodesDigest)) {
      return false;
    }
    contacts.add(caller, nodesHere.without(Arrays.asList(silent)));
    return true;
  }

  /** The jobs have changed. */
  public void wake() {
    changes.release();
  }

  private void run() {
    loop.run(
        ERROR_PAUSE,
        () -> {
          long begin = System.nanoTime();
          boolean calls = isCaller();
          if (calls) {
            round();
          }
          if (neededSince.isPresent()) {
            Duration pause = calls && rounds < FIRST_ROUNDS ? FIRST_INTERVAL : interval;
            TimeUnit.NANOSECONDS.sleep(begin + pause.toNanos() - System.nanoTime());
          } else {
            changes.tryAcquire(2 * interval.toNanos(), TimeUnit.NANOSECONDS);
          }
          changes.drainPermits();
        });
  }

  /** Compares the nodes; returns whether this node must call the other nodes now. */
  private boolean isCaller() {
    live = nodes.live();
    departures.observe(live);
    if (!hasJobs.getAsBoolean()) {
      neededSince = OptionalLong.empty();
    } else if (neededSince.isEmpty()) {
      neededSince = OptionalLong.of(System.nanoTime());
      rounds = 0;
    }
    List<String> ids = live.stream().map(Node::getConsistentId).collect(Collectors.toList());
    if (!known.isOf(Set.copyOf(ids))) {
      known = new NodeSet(ids);
    }
    if (neededSince.isPresent() && contacts.isCaller(ids, interval, needed())) {
      return true;
    }
    answers = ConcurrentHashMap.newKeySet();
    // If this node begins to call, older ones have been silent.
    called = Set.copyOf(ids.subList(0, Math.max(0, ids.indexOf(self))));
    return false;
  }

  /** The time for which calls are needed. */
  private Duration needed() {
    return Duration.ofNanos(System.nanoTime() - neededSince.getAsLong());
  }

  private void round() throws InterruptedException {
    Set<String> answered = Set.copyOf(answers);
    Set<String> silent = Set.copyOf(Sets.difference(called, answered));
    contacts.add(self, answered);
    rounds++;
    callAll(answered, silent);
  }

  private void callAll(Set<String> answered, Set<String> silent) throws InterruptedException {
    Message message = new Message(answered);
    Set<String> now = ConcurrentHashMap.newKeySet();
    answers = now;
    List<Node> others =
        live.stream()
            .filter(node -> !node.getConsistentId().equals(self))
            .collect(Collectors.toList());
    called = others.stream().map(Node::getConsistentId).collect(Collectors.toSet());
    // A node gets the next call after its answer, or when the time for that is over.
    others.removeIf(node -> !pending.add(node.getId()));
    CountDownLatch open =
        new CountDownLatch(
            (int) others.stream().filter(node -> !silent.contains(node.getConsistentId())).count());
    for (Node node : others) {
      calls.execute(
          () -> {
            try {
              message.sendTo(node);
              now.add(node.getConsistentId());
            } catch (RuntimeException e) {
              // The node is leaving, or its service is not deployed yet: it has not answered.
            } finally {
              pending.remove(node.getId());
              if (!silent.contains(node.getConsistentId())) {
                open.countDown();
              }
            }
          });
    }
    open.await(wait.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** What one round says to all nodes. */
  private final class Message {
    private final String nodesDigest = known.digest;
    private final String[] answered;
    private final String[] silent;

    Message(Set<String> answered) {
      this.answered = answered.toArray(new String[0]);
      Set<String> here = Sets.union(answered, Set.of(self));
      this.silent = known.without(here).toArray(new String[0]);
    }

    void sendTo(Node node) {
      NodeContact contact =
          ignite
              .services(ignite.cluster().forNodeId(UUID.fromString(node.getId())))
              .serviceProxy(serviceName, NodeContact.class, false, wait.toMillis());
      // A node of an earlier version, which has no limit of tasks, knows the longer call only.
      boolean isShorter = silent.length < answered.length && node.getMaxTasks() > 0;
      if (!isShorter || !contact.contactAllBut(self, nodesDigest, silent)) {
        contact.contact(self, answered);
      }
    }
  }
}
