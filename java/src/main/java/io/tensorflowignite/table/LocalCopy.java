package io.tensorflowignite.table;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.ignite.cache.CachePeekMode;

/**
 * This node's copy of a table of jobs, whose rows are parsed once after each change. Ignite calls
 * back during the commit, when the new value may not be readable yet: so a changed row is read
 * again for a while. Rows that arrive when partitions are copied to this node come without an
 * event: so all rows are compared when their number differs, and from time to time.
 */
final class LocalCopy implements AutoCloseable {
  private static final Duration SETTLED = Duration.ofSeconds(2);
  private static final Duration SCAN_INTERVAL = Duration.ofSeconds(30);

  private final Rows rows;
  private final LocalFeed feed;
  private final Map<Object, JobRow> parsed = new ConcurrentHashMap<>();

  /** The moment of the last change of a row, which was less than {@link #SETTLED} ago. */
  private final Map<Object, Long> changed = new ConcurrentHashMap<>();

  private long scannedAt;
  private volatile boolean outdated = true;

  LocalCopy(Rows rows, Consumer<String> listener) {
    this.rows = rows;
    this.feed =
        LocalFeed.open(
            rows.cache(),
            key -> {
              changed.put(key, System.nanoTime());
              listener.accept(Rows.text(key));
            });
  }

  /** All rows, in no order. */
  synchronized Collection<JobRow> all() {
    long now = System.nanoTime();
    if (outdated
        || now - scannedAt > SCAN_INTERVAL.toNanos()
        || rows.cache().localSize(CachePeekMode.ALL) != parsed.size()) {
      outdated = false;
      scannedAt = now;
      scan();
    }
    Iterator<Map.Entry<Object, Long>> keys = changed.entrySet().iterator();
    while (keys.hasNext()) {
      Map.Entry<Object, Long> change = keys.next();
      if (now - change.getValue() > SETTLED.toNanos()) {
        changed.remove(change.getKey(), change.getValue());
      }
      read(change.getKey(), rows.cache().localPeek(change.getKey(), CachePeekMode.ALL));
    }
    return parsed.values();
  }

  /** The row of a key; null: there is none. */
  JobRow get(Object key) {
    all();
    return parsed.get(key);
  }

  /** Compares all rows at the next call: partitions have moved. */
  void compare() {
    outdated = true;
  }

  private void scan() {
    Map<Object, Object> all = new HashMap<>();
    rows.forEachLocal(all::put);
    parsed.keySet().retainAll(all.keySet());
    all.forEach(this::read);
  }

  private void read(Object key, Object value) {
    JobRow known = parsed.get(key);
    if (value == null) {
      parsed.remove(key);
    } else if (known == null || !known.isOf(value)) {
      parsed.put(key, new JobRow(key, value));
    }
  }

  @Override
  public void close() {
    feed.close();
  }
}
