package io.tensorflowignite.data.change;

import io.tensorflowignite.v1.PartitionPosition;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The keys of one partition that were put or removed lately, in the order of the changes. Each
 * change has a number; the number of the next one is a position. The log is bounded: the oldest
 * changes are dropped, and positions before them are not valid any more. Thread-safe; {@link #add}
 * returns at once.
 */
final class PartitionLog {
  private static final int FIRST_CAPACITY = 16;

  private final int partition;
  private final ChangeMemory memory;

  /** Positions with another one are not valid: changes may have been missed since. */
  private long feed = newFeed();

  /** A ring: change n is at n modulo its length. */
  private Object[] keys = new Object[0];

  /** The oldest change that is kept. */
  private long first;

  private long next;
  private long bytes;

  /** Rows that were created, less those that were removed. */
  private long balance;

  /** Empty: nothing has changed yet. */
  private OptionalLong changedAt = OptionalLong.empty();

  PartitionLog(int partition, ChangeMemory memory) {
    this.partition = partition;
    this.memory = memory;
  }

  /**
   * Adds a change.
   *
   * @param limit the most changes that are kept
   * @param created 1: the row is new; -1: it was removed; 0: it had another value
   * @param nanos a monotonic clock's time
   */
  synchronized void add(Object key, long limit, int created, long nanos) {
    balance += created;
    changedAt = OptionalLong.of(nanos);
    while (next - first >= limit) {
      dropFirst();
    }
    long size = ChangeMemory.sizeOf(key);
    if (!memory.reserve(size)) {
      forget();
      return;
    }
    bytes += size;
    if (next - first == keys.length) {
      grow();
    }
    keys[index(next)] = key;
    next++;
  }

  /** The position after the last change. */
  synchronized PartitionPosition position() {
    return PartitionPosition.newBuilder()
        .setPartition(partition)
        .setFeed(feed)
        .setSequence(next)
        .build();
  }

  /**
   * The distinct keys that have changed between two positions; empty: the first is not valid.
   *
   * @param end a position of this log
   */
  synchronized Optional<Collection<Object>> between(
      PartitionPosition since, PartitionPosition end) {
    if (!isValid(since) || end.getFeed() != feed || since.getSequence() > end.getSequence()) {
      return Optional.empty();
    }
    Collection<Object> changed = new LinkedHashSet<>();
    // Arrays are equal only to themselves.
    Set<ByteBuffer> arrays = new HashSet<>();
    for (long number = since.getSequence(); number < end.getSequence(); number++) {
      Object key = keys[index(number)];
      if (!(key instanceof byte[]) || arrays.add(ByteBuffer.wrap((byte[]) key))) {
        changed.add(key);
      }
    }
    return Optional.of(changed);
  }

  /** Whether there is a change since a position, or the position is not valid. */
  synchronized boolean hasChanged(PartitionPosition position) {
    return !isValid(position) || position.getSequence() != next;
  }

  /** Makes all positions invalid, since changes may have been missed. */
  synchronized void forget() {
    memory.release(bytes);
    bytes = 0;
    keys = new Object[0];
    first = next;
    feed = newFeed();
  }

  /**
   * The rows that this log expects in its partition.
   *
   * @param rows those that there were when the log began
   */
  synchronized long expected(long rows) {
    return rows + balance;
  }

  /** Whether the last change is older than a duration. */
  synchronized boolean isQuiet(long nanos, long duration) {
    return changedAt.isEmpty() || nanos - changedAt.getAsLong() >= duration;
  }

  private boolean isValid(PartitionPosition position) {
    return position.getFeed() == feed && position.getSequence() >= first;
  }

  private static long newFeed() {
    return ThreadLocalRandom.current().nextLong() | 1;
  }

  private void dropFirst() {
    long size = ChangeMemory.sizeOf(keys[index(first)]);
    keys[index(first)] = null;
    first++;
    bytes -= size;
    memory.release(size);
  }

  private void grow() {
    Object[] larger = new Object[Math.max(FIRST_CAPACITY, 2 * keys.length)];
    for (long number = first; number < next; number++) {
      larger[(int) (number % larger.length)] = keys[index(number)];
    }
    keys = larger;
  }

  private int index(long number) {
    return (int) (number % keys.length);
  }
}
