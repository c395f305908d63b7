package io.tensorflowignite.data.read;

import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.v1.ReadLimit;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongToDoubleFunction;
import org.apache.ignite.Ignite;

/**
 * The paces of this node's streams. All streams yield to the application's work and share the limit
 * of the node. The streams of one group also share the limit of the group. Thread-safe.
 */
public final class ReadPaces {
  /**
   * A group without streams is removed after this time, even if its next rows would have to wait.
   */
  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final LongToDoubleFunction share;
  private final RateLimit bytes;
  private final RateLimit rows;
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final Map<ReadLimit, Group> groups = new HashMap<>();

  public ReadPaces(Ignite ignite, ReadRate rate) {
    this(rate.yields ? new NodeLoad(ignite, new YieldRule())::share : null, rate);
  }

  ReadPaces(LongToDoubleFunction share, ReadRate rate) {
    this.share = threads.isCurrentThreadCpuTimeSupported() ? share : null;
    bytes = rate.bytes > 0 ? new RateLimit(rate.bytes) : null;
    rows = rate.rows > 0 ? new RateLimit(rate.rows) : null;
  }

  /** The pace of a stream that this thread reads; {@link #end} must follow. */
  public ReadPace begin(ReadLimit limit) {
    List<RateLimit> ofBytes = new ArrayList<>();
    List<RateLimit> ofRows = new ArrayList<>();
    Group group = join(limit);
    add(bytes, ofBytes);
    add(rows, ofRows);
    if (group != null) {
      add(group.bytes, ofBytes);
      add(group.rows, ofRows);
    }
    return new ReadPace(
        share,
        ofBytes,
        ofRows,
        threads::getCurrentThreadCpuTime,
        System::nanoTime,
        ReadPace::sleepWithoutTurn);
  }

  /** A stream with this limit has ended. */
  public synchronized void end(ReadLimit limit) {
    Group group = groups.get(limit);
    if (group != null) {
      group.streams--;
      group.endedAt = System.nanoTime();
    }
  }

  /** Number of the groups whose next rows have to wait. */
  synchronized int groups() {
    // The next epoch of a reader belongs to the same group, and begins after the end of this one.
    long now = System.nanoTime();
    groups.values().removeIf(group -> group.isOver(now));
    return groups.size();
  }

  private synchronized Group join(ReadLimit limit) {
    if (limit.getBytesPerSecond() == 0 && limit.getRowsPerSecond() == 0) {
      return null;
    }
    if (limit.getGroup().isEmpty()) {
      return new Group(limit);
    }
    groups();
    Group group = groups.computeIfAbsent(limit, Group::new);
    group.streams++;
    return group;
  }

  private static void add(RateLimit limit, List<RateLimit> limits) {
    if (limit != null) {
      limits.add(limit);
    }
  }

  private static final class Group {
    private final RateLimit bytes;
    private final RateLimit rows;
    private int streams;
    private long endedAt;

    Group(ReadLimit limit) {
      bytes = limit.getBytesPerSecond() > 0 ? new RateLimit(limit.getBytesPerSecond()) : null;
      rows = limit.getRowsPerSecond() > 0 ? new RateLimit(limit.getRowsPerSecond()) : null;
    }

    boolean isOver(long now) {
      return streams == 0
          && (now - endedAt > LONGEST_NANOS
              || !(bytes != null && bytes.isTaken(now)) && !(rows != null && rows.isTaken(now)));
    }
  }
}
