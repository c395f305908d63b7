package io.tensorflowignite.table;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.ignite.cache.CachePeekMode;

/**
 * This node's copy of a table, whose rows are parsed once after each change. Ignite calls back
 * during the commit, when the new value may not be readable yet: so a changed row is read again for
 * a while. Rows that arrive when partitions are copied to this node come without an event: so all
 * rows are compared when their number differs, and from time to time.
 *
 * @param <R> a parsed row
 */
final class LocalCopy<R> implements AutoCloseable {
  private static final Duration SETTLED = Duration.ofSeconds(2);
  private static final Duration SCAN_INTERVAL = Duration.ofSeconds(30);

  private static final class Parsed<R> {
    final Object value;
    final R row;

    Parsed(Object value, R row) {
      this.value = value;
      this.row = row;
    }
  }

  private final Rows rows;
  private final BiFunction<Object, Object, R> parser;
  private final LocalFeed feed;
  private final Map<Object, Parsed<R>> parsed = new ConcurrentHashMap<>();

  /** The moment of the last change of a row, which was less than {@link #SETTLED} ago. */
  private final Map<Object, Long> changed = new ConcurrentHashMap<>();

  private long scannedAt;
  private boolean wasWhole;
  private volatile boolean outdated = true;

  /**
   * @param parser makes a row of its key and its value
   * @param listener gets the key of each row that was put or removed, see {@link LocalFeed}
   */
  LocalCopy(Rows rows, BiFunction<Object, Object, R> parser, Consumer<String> listener) {
    this.rows = rows;
    this.parser = parser;
    this.feed =
        LocalFeed.open(
            rows.cache(),
            key -> {
              changed.put(key, System.nanoTime());
              listener.accept(Rows.text(key));
            });
  }

  /** All rows, in no order. */
  Collection<R> all() {
    refresh();
    return parsed.values().stream().map(known -> known.row).collect(Collectors.toList());
  }

  /** The keys of all rows, in no order. */
  Collection<Object> keys() {
    refresh();
    return List.copyOf(parsed.keySet());
  }

  /** The row of a key; empty: there is none. */
  Optional<R> get(Object key) {
    refresh();
    return Optional.ofNullable(parsed.get(key)).map(known -> known.row);
  }

  /** Whether it has all rows; after its join, a node receives them from other nodes for a while. */
  boolean isWhole() {
    return rows.areWhole();
  }

  private synchronized void refresh() {
    long now = System.nanoTime();
    boolean isWhole = isWhole();
    if (outdated
        || isWhole != wasWhole
        || now - scannedAt > SCAN_INTERVAL.toNanos()
        || rows.cache().localSize(CachePeekMode.ALL) != parsed.size()) {
      outdated = false;
      wasWhole = isWhole;
      scannedAt = now;
      scan();
    }
    for (Map.Entry<Object, Long> change : changed.entrySet()) {
      if (now - change.getValue() > SETTLED.toNanos()) {
        changed.remove(change.getKey(), change.getValue());
      }
      read(change.getKey(), rows.cache().localPeek(change.getKey(), CachePeekMode.ALL));
    }
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
    Parsed<R> known = parsed.get(key);
    if (value == null) {
      parsed.remove(key);
    } else if (known == null || !Objects.deepEquals(known.value, value)) {
      parsed.put(key, new Parsed<>(value, parser.apply(key, value)));
    }
  }

  @Override
  public void close() {
    feed.close();
  }
}
