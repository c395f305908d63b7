package io.tensorflowignite.lease;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.tensorflowignite.job.decide.QuorumRule;
import io.tensorflowignite.v1.Job;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Which nodes have answered, and the earliest moment at which they were connected. The lease of an
 * attempt follows from this: it ends a fixed time after a moment at which a majority of the job's
 * members was connected. The other nodes start no attempt before, see {@code TerminationProof}.
 *
 * <p>The moment: a caller calls all nodes in rounds. Call k to this node names the nodes that
 * answered the round of call k-1, or a later round. That round began after this node had answered
 * call k-2 if call k-1 names this node among the nodes that have answered. So these nodes, the
 * caller and this node were connected at the time of call k-2, or later. The earlier moment is safe
 * for any delay of a message. While this node stands still, calls queue, and then arrive together;
 * they do not name this node, and prove nothing.
 */
public final class Contacts {
  /** So that not all nodes of a large cluster begin, when the network is cut. */
  private static final int MAX_POSITION = 5;

  /**
   * A task starts only if this part of a lease is left, the time of four rounds. A node that stood
   * still has proofs from before that. They may end before the next one comes, which takes two
   * rounds.
   */
  private static final int PARTS_TO_START = 3;

  private static final class Proof {
    final long at;
    final Set<String> connected;

    Proof(long at, Set<String> connected) {
      this.at = at;
      this.connected = connected;
    }
  }

  /** The times of the last two calls of one caller. */
  private static final class Calls {
    OptionalLong last = OptionalLong.empty();
    OptionalLong beforeLast = OptionalLong.empty();

    /** The last call was made after the answer to the one before it. */
    boolean lastNamesSelf;
  }

  private final String self;
  private final long leaseNanos;
  private final LongSupplier nanos;
  private final Map<String, Calls> callers = new HashMap<>();
  private final List<Proof> proofs = new ArrayList<>();

  /**
   * @param self the consistent id of this node
   * @param nanos a monotonic clock in nanoseconds, like {@link System#nanoTime}
   */
  public Contacts(String self, Duration lease, LongSupplier nanos) {
    this.self = self;
    this.leaseNanos = lease.toNanos();
    this.nanos = nanos;
  }

  /** Takes a call, see {@link NodeContact#contact}. */
  public synchronized void add(String caller, Iterable<String> answered) {
    long now = nanos.getAsLong();
    callers.values().removeIf(calls -> now - calls.last.getAsLong() > leaseNanos);
    proofs.removeIf(proof -> now - proof.at > leaseNanos);
    Calls calls = callers.computeIfAbsent(caller, key -> new Calls());
    Set<String> connected =
        ImmutableSet.<String>builder().addAll(answered).add(caller).add(self).build();
    if (calls.lastNamesSelf) {
      calls.beforeLast.ifPresent(at -> proofs.add(new Proof(at, connected)));
    }
    calls.beforeLast = calls.last;
    calls.last = OptionalLong.of(now);
    calls.lastNamesSelf = caller.equals(self) || Iterables.contains(answered, self);
  }

  /**
   * Whether this node is to call all nodes now: node n of the order does so when no older node has
   * called it for n + 1 rounds.
   *
   * @param consistentIds the nodes of the cluster, in the order in which they joined
   * @param interval the time between two rounds
   * @param needed the time for which rounds are needed: before, no node has called
   */
  public boolean isCaller(List<String> consistentIds, Duration interval, Duration needed) {
    int position = consistentIds.indexOf(self);
    if (position <= 0 || position > MAX_POSITION) {
      return position == 0;
    }
    Duration silence = sinceCallOf(Set.copyOf(consistentIds.subList(0, position)));
    return Collections.min(List.of(silence, needed)).compareTo(interval.multipliedBy(position + 1L))
        >= 0;
  }

  /** The time since the last call of any of the callers; the longest one if there was none. */
  synchronized Duration sinceCallOf(Set<String> consistentIds) {
    long now = nanos.getAsLong();
    return callers.entrySet().stream()
        .filter(entry -> consistentIds.contains(entry.getKey()))
        .map(entry -> Duration.ofNanos(now - entry.getValue().last.getAsLong()))
        .min(Duration::compareTo)
        .orElse(Duration.ofNanos(Long.MAX_VALUE));
  }

  /**
   * The end of the lease of an attempt of the job, on the monotonic clock in nanoseconds; in the
   * past if no majority of its members is connected.
   */
  public synchronized long leaseEnd(Job job) {
    long now = nanos.getAsLong();
    if (QuorumRule.holds(job, Set.of(self))) {
      return now + leaseNanos;
    }
    return proofs.stream()
            .filter(proof -> QuorumRule.holds(job, proof.connected))
            .mapToLong(proof -> proof.at - now)
            .max()
            .orElse(-leaseNanos - 1)
        + now
        + leaseNanos;
  }

  /** The {@link #leaseEnd} for a task that is about to start; empty: it must not start yet. */
  public OptionalLong leaseEndToStart(Job job) {
    long end = leaseEnd(job);
    boolean isLong = end - nanos.getAsLong() >= leaseNanos / PARTS_TO_START;
    return isLong ? OptionalLong.of(end) : OptionalLong.empty();
  }
}
