package io.tensorflowignite.predict.decide;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The requests that wait for one process, put together to batches. A batch has requests of one
 * group only, in the order in which they came. It is due when it is full, or when its first request
 * has waited for the longest delay; an idle process waits for no others if the batch before was one
 * request alone. All times are nanoseconds of one clock of any origin. Not thread-safe.
 *
 * @param <R> a request
 */
public final class RequestQueue<R> {
  private static final class Entry<R> {
    final R request;
    final int rows;
    final long bytes;
    final long arrivedAt;
    final long deadline;

    Entry(R request, int rows, long bytes, long arrivedAt, long deadline) {
      this.request = request;
      this.rows = rows;
      this.bytes = bytes;
      this.arrivedAt = arrivedAt;
      this.deadline = deadline;
    }
  }

  /** A number of rows, and of bytes. */
  public static final class Size {
    final int rows;
    final long bytes;

    public Size(int rows, long bytes) {
      this.rows = rows;
      this.bytes = bytes;
    }
  }

  /** The time until nothing happens by itself. */
  public static final long NEVER = Long.MAX_VALUE;

  private final Size batch;
  private final Size capacity;
  private final long delayNanos;
  private final Map<Object, Deque<Entry<R>>> groups = new LinkedHashMap<>();
  private int waitingRows;
  private long waitingBytes;

  /** Whether the last batch was one request, beside which nothing waited or was in the process. */
  private boolean wasAlone = true;

  /**
   * @param batch the largest size of a batch of several requests
   * @param capacity the largest size of all requests that wait
   * @param delayNanos for how long a request waits for others
   */
  public RequestQueue(Size batch, Size capacity, long delayNanos) {
    this.batch = batch;
    this.capacity = capacity;
    this.delayNanos = delayNanos;
  }

  /**
   * Adds a request, if there is room. A request that is larger than all that may wait has room in
   * an empty queue.
   *
   * @param group equal for requests that can be in one batch
   * @return whether there was room
   */
  public boolean offer(R request, Object group, int rows, long bytes, long now, long deadline) {
    boolean isFull = waitingRows + rows > capacity.rows || waitingBytes + bytes > capacity.bytes;
    if (isFull && !groups.isEmpty()) {
      return false;
    }
    waitingRows += rows;
    waitingBytes += bytes;
    groups
        .computeIfAbsent(group, key -> new ArrayDeque<>())
        .add(new Entry<>(request, rows, bytes, now, deadline));
    return true;
  }

  /** Removes and returns the requests whose deadlines have passed. */
  public List<R> expire(long now) {
    List<R> expired = new ArrayList<>();
    for (Iterator<Deque<Entry<R>>> each = groups.values().iterator(); each.hasNext(); ) {
      Deque<Entry<R>> group = each.next();
      group.removeIf(
          entry -> {
            boolean late = entry.deadline - now <= 0;
            if (late) {
              removed(entry);
              expired.add(entry.request);
            }
            return late;
          });
      if (group.isEmpty()) {
        each.remove();
      }
    }
    return expired;
  }

  /**
   * Removes and returns the requests of the batch that is due; empty: none is.
   *
   * @param isIdle whether the process has no batch
   */
  public List<R> take(long now, boolean isIdle) {
    boolean atOnce = isIdle && wasAlone;
    Object due = null;
    long first = 0;
    for (Map.Entry<Object, Deque<Entry<R>>> group : groups.entrySet()) {
      long arrivedAt = group.getValue().peek().arrivedAt;
      if ((atOnce || isDue(group.getValue(), now)) && (due == null || arrivedAt - first < 0)) {
        due = group.getKey();
        first = arrivedAt;
      }
    }
    if (due == null) {
      return List.of();
    }
    List<R> taken = batch(due);
    wasAlone = isIdle && taken.size() == 1 && groups.isEmpty();
    return taken;
  }

  /** The nanoseconds until a batch is due or a deadline has passed; {@link #NEVER}: nothing is. */
  public long untilNext(long now) {
    long next = NEVER;
    for (Deque<Entry<R>> group : groups.values()) {
      if (isDue(group, now)) {
        return 0;
      }
      next = Math.min(next, group.peek().arrivedAt + delayNanos - now);
      next = Math.min(next, untilDeadline(group, now));
    }
    return next;
  }

  /** The nanoseconds until the first deadline; {@link #NEVER}: nothing waits. */
  public long untilDeadline(long now) {
    return groups.values().stream().mapToLong(g -> untilDeadline(g, now)).min().orElse(NEVER);
  }

  /** Rows that wait. */
  public int waitingRows() {
    return waitingRows;
  }

  /** Whether nothing waits. */
  public boolean isEmpty() {
    return groups.isEmpty();
  }

  /** Removes and returns all requests. */
  public List<R> clear() {
    List<R> all = new ArrayList<>();
    groups.values().forEach(group -> group.forEach(entry -> all.add(entry.request)));
    groups.clear();
    waitingRows = 0;
    waitingBytes = 0;
    return all;
  }

  private static <R> long untilDeadline(Deque<Entry<R>> group, long now) {
    return group.stream().mapToLong(e -> Math.max(0, e.deadline - now)).min().orElse(NEVER);
  }

  private void removed(Entry<R> entry) {
    waitingRows -= entry.rows;
    waitingBytes -= entry.bytes;
  }

  private boolean isDue(Deque<Entry<R>> group, long now) {
    return now - group.peek().arrivedAt >= delayNanos
        || group.stream().mapToLong(entry -> entry.rows).sum() >= batch.rows
        || group.stream().mapToLong(entry -> entry.bytes).sum() >= batch.bytes;
  }

  private List<R> batch(Object key) {
    Deque<Entry<R>> group = groups.get(key);
    List<R> taken = new ArrayList<>();
    long rows = 0;
    long bytes = 0;
    while (!group.isEmpty()) {
      Entry<R> entry = group.peek();
      rows += entry.rows;
      bytes += entry.bytes;
      if (!taken.isEmpty() && (rows > batch.rows || bytes > batch.bytes)) {
        break;
      }
      removed(group.poll());
      taken.add(entry.request);
    }
    if (group.isEmpty()) {
      groups.remove(key);
    }
    return taken;
  }
}
