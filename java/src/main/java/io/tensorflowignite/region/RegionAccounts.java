package io.tensorflowignite.region;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * One data region on all nodes: the bytes in use at the last measurement, and the bytes that this
 * node has written since. A write needs no new measurement while it and the writes since the last
 * one are a small part of the free bytes: all nodes may write this amount at the same time.
 */
final class RegionAccounts {
  /** Others write too, so that a measurement is of no use after this time. */
  static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A refused write does not cause a measurement if the last one is younger. */
  static final long REFUSED_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** All nodes together write at most this fraction of the free bytes between two measurements. */
  private static final int CREDIT_DIVISOR = 4;

  /** A node without enough memory for a write. */
  static final class Full {
    final UUID node;
    final RegionLimit limit;
    final long used;

    Full(UUID node, RegionLimit limit, long used) {
      this.node = node;
      this.limit = limit;
      this.used = used;
    }
  }

  private static final class Account {
    long used;
    long measuredAt;
    boolean measured;

    /** Bytes of writes that have not ended. */
    long pending;

    /** Bytes of writes that have ended since the measurement. */
    long stored;

    long total() {
      return used + pending + stored;
    }
  }

  private final Function<Collection<UUID>, Map<UUID, Long>> measure;
  private final LongSupplier clock;
  private final Object measuring = new Object();
  private final Map<UUID, Account> accounts = new HashMap<>();

  /**
   * @param measure the bytes in use on nodes
   * @param clock nanoseconds
   */
  RegionAccounts(Function<Collection<UUID>, Map<UUID, Long>> measure, LongSupplier clock) {
    this.measure = measure;
    this.clock = clock;
  }

  /**
   * Reserves the bytes of a write on every node that stores them, or on none.
   *
   * @param limits of the nodes that store the write
   * @param writers number of nodes that may write
   * @return the node that has too little memory; null: the bytes are reserved
   */
  Full reserve(Purpose purpose, Map<UUID, Long> bytes, Map<UUID, RegionLimit> limits, int writers) {
    long start = clock.getAsLong();
    synchronized (this) {
      Full full = full(purpose, bytes, limits);
      boolean known =
          full == null
              ? isCovered(purpose, bytes, limits, writers)
              : isStillFull(purpose, bytes, full);
      if (known) {
        return full == null ? add(bytes) : full;
      }
    }
    measure(bytes.keySet(), start);
    synchronized (this) {
      Full full = full(purpose, bytes, limits);
      return full == null ? add(bytes) : full;
    }
  }

  /**
   * Whether a write and this node's other writes that are not stored yet exceed this node's share
   * of the free memory. Nodes do not know each other's writes before these are stored. A single
   * write may be larger.
   */
  synchronized boolean exceedsShare(
      Map<UUID, Long> bytes, Map<UUID, RegionLimit> limits, int writers) {
    return bytes.entrySet().stream()
        .anyMatch(
            write -> {
              Account account = account(write.getKey());
              long free =
                  limits.get(write.getKey()).bytes(Purpose.DATA) - account.used - account.stored;
              return account.pending > 0 && account.pending + write.getValue() > free / writers;
            });
  }

  /** The write has ended. */
  synchronized void release(Map<UUID, Long> bytes) {
    bytes.forEach(
        (node, count) -> {
          Account account = accounts.get(node);
          account.pending -= count;
          account.stored += count;
        });
  }

  private Full add(Map<UUID, Long> bytes) {
    bytes.forEach((node, count) -> account(node).pending += count);
    return null;
  }

  private Full full(Purpose purpose, Map<UUID, Long> bytes, Map<UUID, RegionLimit> limits) {
    for (Map.Entry<UUID, Long> write : bytes.entrySet()) {
      RegionLimit limit = limits.get(write.getKey());
      long total = account(write.getKey()).total();
      if (total + write.getValue() > limit.bytes(purpose)) {
        return new Full(write.getKey(), limit, total);
      }
    }
    return null;
  }

  /** Whether the measurements still hold for a write. */
  private boolean isCovered(
      Purpose purpose, Map<UUID, Long> bytes, Map<UUID, RegionLimit> limits, int writers) {
    for (Map.Entry<UUID, Long> write : bytes.entrySet()) {
      Account account = account(write.getKey());
      // Changes of state are small and must not wait: an old measurement is enough for them.
      boolean recent = purpose == Purpose.DECISION || age(write.getKey()) < MAX_AGE_NANOS;
      long free = limits.get(write.getKey()).bytes(purpose) - account.used;
      long since = account.pending + account.stored + write.getValue();
      if (!account.measured || !recent || since > free / CREDIT_DIVISOR / writers) {
        return false;
      }
    }
    return true;
  }

  /** Whether a measurement would hardly change that a node is full. */
  private boolean isStillFull(Purpose purpose, Map<UUID, Long> bytes, Full full) {
    long measured = account(full.node).used + bytes.get(full.node);
    return measured > full.limit.bytes(purpose) && age(full.node) < REFUSED_AGE_NANOS;
  }

  private long age(UUID node) {
    Account account = account(node);
    return account.measured ? clock.getAsLong() - account.measuredAt : Long.MAX_VALUE;
  }

  private Account account(UUID node) {
    return accounts.computeIfAbsent(node, id -> new Account());
  }

  /** One thread measures at a time; the threads that wait for it use its result. */
  private void measure(Collection<UUID> nodes, long requestedAt) {
    synchronized (measuring) {
      long start = clock.getAsLong();
      Map<UUID, Long> stored = new HashMap<>();
      synchronized (this) {
        if (nodes.stream().allMatch(node -> isMeasuredSince(node, requestedAt))) {
          return;
        }
        nodes.forEach(node -> stored.put(node, account(node).stored));
      }
      Map<UUID, Long> used = measure.apply(nodes);
      synchronized (this) {
        for (UUID node : nodes) {
          Account account = account(node);
          account.measured = true;
          account.measuredAt = start;
          account.used = used.get(node);
          account.stored -= stored.get(node);
        }
      }
    }
  }

  private boolean isMeasuredSince(UUID node, long time) {
    Account account = account(node);
    return account.measured && account.measuredAt - time >= 0;
  }
}
