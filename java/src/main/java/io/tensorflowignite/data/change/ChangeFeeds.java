package io.tensorflowignite.data.change;

import io.tensorflowignite.data.read.PartitionReader;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.ignite.ExchangeObserver;
import io.tensorflowignite.ignite.LocalCache;
import io.tensorflowignite.ignite.PartitionExchange;
import io.tensorflowignite.ignite.PartitionExchanges;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadCommand;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteLogger;

/**
 * The feeds of one node: a cache has one from the first reader that asks for positions until ten
 * minutes after the last one. Every change of owners is an exchange, in which no row changes: so a
 * feed knows exactly since when this node has been the owner of a partition.
 */
public final class ChangeFeeds implements ExchangeObserver, AutoCloseable {
  private static final Duration IDLE = Duration.ofMinutes(10);
  private static final Duration GRACE = Duration.ofSeconds(2);

  private final Ignite ignite;
  private final IgniteLogger log;
  private final Duration grace;
  private final PartitionExchanges exchanges;
  private final ChangeMemory memory = new ChangeMemory();

  /** By the deployments of their caches. */
  private final Map<Object, ChangeFeed> feeds = new ConcurrentHashMap<>();

  private ChangeFeeds(Ignite ignite, Duration grace) {
    this.ignite = ignite;
    this.grace = grace;
    log = ignite.log().getLogger(ChangeFeeds.class);
    exchanges = new PartitionExchanges(ignite, this);
  }

  /** Has no feed yet. */
  public static ChangeFeeds open(Ignite ignite) {
    return open(ignite, GRACE);
  }

  /**
   * Has no feed yet.
   *
   * @param grace how long an update that has begun may take: positions begin so long after a feed
   */
  public static ChangeFeeds open(Ignite ignite, Duration grace) {
    ChangeFeeds opened = new ChangeFeeds(ignite, grace);
    opened.exchanges.open();
    return opened;
  }

  /**
   * The feed of a cache, which begins with the first call.
   *
   * @param cache kept binary
   */
  private ChangeFeed of(IgniteCache<Object, Object> cache) {
    Object deployment = LocalCache.deployment(ignite, cache.getName());
    ChangeFeed known = feeds.get(deployment);
    if (known != null && !known.isBroken()) {
      return known;
    }
    if (known != null && feeds.remove(deployment, known)) {
      known.close();
    }
    // Without a lock: an exchange, for which the query may wait, calls this object.
    ChangeFeed opened = ChangeFeed.open(cache, memory, grace);
    ChangeFeed other = feeds.putIfAbsent(deployment, opened);
    if (other != null) {
      opened.close();
      return other;
    }
    // An exchange before this moment did not know the feed.
    opened.follow();
    return opened;
  }

  /**
   * The reader of what has changed since positions.
   *
   * @param cache kept binary
   * @param identity makes the columns that identify rows
   * @param selection which rows are read
   * @param since the positions, by partition; a partition without one is read whole
   * @param command says how long to wait for a first change, and how removed rows are sent
   */
  public RowReader reader(
      IgniteCache<Object, Object> cache,
      RowIdentity identity,
      KeySelection selection,
      PartitionReader scans,
      Map<Integer, PartitionPosition> since,
      ReadCommand command) {
    return new ChangeReader(cache, of(cache), identity, selection, scans, since, command);
  }

  /**
   * The reader of a query that is run only if a partition has changed since its position.
   *
   * @param isAlone whether the query reads no other cache; otherwise it is always run
   */
  public RowReader reader(
      IgniteCache<Object, Object> cache,
      RowReader query,
      Map<Integer, PartitionPosition> since,
      boolean isAlone) {
    return new ChangedQueryReader(of(cache), query, isAlone ? since : Map.of());
  }

  /** Ends the feeds that nobody uses any more, those of caches that were removed among them. */
  public void closeIdle() {
    for (Map.Entry<Object, ChangeFeed> entry : feeds.entrySet()) {
      if (entry.getValue().isIdleFor(IDLE) || entry.getValue().isBroken()) {
        feeds.remove(entry.getKey());
        entry.getValue().close();
      }
    }
  }

  /** An exception in a thread of Ignite's exchange would end the node. */
  @Override
  public void onEnd(PartitionExchange exchange) {
    for (ChangeFeed feed : feeds.values()) {
      try {
        feed.follow();
      } catch (RuntimeException | LinkageError e) {
        // Its cache was removed, or something is wrong: its readers read whole partitions.
        log.debug("Changes cannot be followed after this exchange: " + e);
        feed.end();
      }
    }
  }

  @Override
  public void close() {
    exchanges.close();
    feeds.values().forEach(ChangeFeed::close);
    feeds.clear();
  }
}
