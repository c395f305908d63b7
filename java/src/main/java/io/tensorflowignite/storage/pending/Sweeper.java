package io.tensorflowignite.storage.pending;

import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.v1.PendingExtent;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.ignite.IgniteLogger;

/**
 * Frees the memory of what is no longer of any file, on a thread of its own.
 *
 * <p>Garbage is removed at once by the node that made it, and once more when it has been garbage
 * for a minute, by the oldest node; only then it is forgotten. The second time takes what the first
 * did not see: all, when that node died, and blocks that were still under way from their writer.
 *
 * <p>How long something has been as it is, is told by this node's own watching: the clocks of nodes
 * may differ.
 */
public final class Sweeper implements AutoCloseable {
  private static final Duration GARBAGE_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final long CLOSE_SECONDS = 10;

  private final IgniteLogger log;
  private final Pendings pendings;
  private final Blocks blocks;
  private final Consumer<String> drain;
  private final Duration writerTimeout;
  private final Duration garbageTimeout;
  private final Duration interval;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(
          body -> {
            Thread sweeper = new Thread(body, "tensorflow-ignite-sweeper");
            sweeper.setDaemon(true);
            return sweeper;
          });
  private final AtomicBoolean looking = new AtomicBoolean();
  private Map<String, Watched> watched = new HashMap<>();
  private volatile long lookedAt;

  /**
   * @param drain frees all that is in a removed directory
   */
  public Sweeper(
      IgniteLogger log,
      Pendings pendings,
      Blocks blocks,
      Consumer<String> drain,
      Duration writerTimeout) {
    this(log, pendings, blocks, drain, writerTimeout, GARBAGE_TIMEOUT);
  }

  /** For tests, which have less patience with garbage. */
  public Sweeper(
      IgniteLogger log,
      Pendings pendings,
      Blocks blocks,
      Consumer<String> drain,
      Duration writerTimeout,
      Duration garbageTimeout) {
    this.log = log.getLogger(Sweeper.class);
    this.pendings = pendings;
    this.blocks = blocks;
    this.drain = drain;
    this.writerTimeout = writerTimeout;
    this.garbageTimeout = garbageTimeout;
    this.interval = shortest(INTERVAL, writerTimeout.dividedBy(2), garbageTimeout.dividedBy(2));
    this.lookedAt = System.nanoTime() - interval.toNanos();
  }

  /** Removes what a change has just made garbage. Does not wait for it. */
  public void sweep(String id) {
    submit(
        () -> {
          PendingExtent seen = pendings.get(id);
          if (seen != null && !seen.hasWrite()) {
            remove(id, seen);
          }
        },
        "Garbage could not be removed at once [id=" + id + "]");
  }

  /**
   * Ends writers that are dead, and removes garbage that is left; for the oldest node to call again
   * and again. Does not wait for it, and does nothing within {@value #CLOSE_SECONDS} s of the last
   * time.
   */
  public void sweepOverdue() {
    if (System.nanoTime() - lookedAt < interval.toNanos() || !looking.compareAndSet(false, true)) {
      return;
    }
    submit(
        () -> {
          try {
            look();
          } finally {
            lookedAt = System.nanoTime();
            looking.set(false);
          }
        },
        "What is pending could not be looked through");
  }

  private void look() {
    Map<String, Watched> before = watched;
    watched = new HashMap<>();
    pendings
        .all()
        .forEach(
            (id, seen) -> {
              Watched known = before.get(id);
              watched.put(id, known != null && known.seen.equals(seen) ? known : new Watched(seen));
            });
    for (Map.Entry<String, Watched> entry : watched.entrySet()) {
      try {
        end(entry.getKey(), entry.getValue());
      } catch (RuntimeException e) {
        unable("What is overdue could not be removed [id=" + entry.getKey() + "]", e);
      }
      if (thread.isShutdown()) {
        return;
      }
    }
  }

  private void end(String id, Watched known) {
    PendingExtent seen = known.seen;
    if (seen.hasWrite()) {
      if (known.isFor(writerTimeout) && pendings.condemn(id, seen)) {
        log.info(
            String.format(
                "Writer is dead, its blocks are removed [extent=%s, path=%s, seconds=%d]",
                id, seen.getWrite().getPath(), writerTimeout.getSeconds()));
      }
    } else if (known.isFor(garbageTimeout)) {
      remove(id, seen);
      pendings.forget(id, seen);
    }
  }

  private void remove(String id, PendingExtent garbage) {
    if (garbage.getDirectoryId().isEmpty()) {
      blocks.remove(id, garbage.getFirst(), garbage.getBlocks());
    } else {
      drain.accept(garbage.getDirectoryId());
    }
  }

  private void submit(Runnable body, String failure) {
    try {
      thread.execute(
          () -> {
            try {
              body.run();
            } catch (RuntimeException e) {
              unable(failure, e);
            }
          });
    } catch (RejectedExecutionException closed) {
      // The oldest node does it later.
    }
  }

  private void unable(String what, RuntimeException cause) {
    if (!thread.isShutdown()) {
      log.warning(what + "; it is tried again within a minute or two", cause);
    }
  }

  /** What it has not done is left to the oldest node. */
  @Override
  public void close() {
    thread.shutdownNow();
    try {
      if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        log.warning("Sweeper still runs after its end [seconds=" + CLOSE_SECONDS + "]");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Duration shortest(Duration first, Duration... others) {
    Duration shortest = first;
    for (Duration other : others) {
      shortest = other.compareTo(shortest) < 0 ? other : shortest;
    }
    return shortest;
  }

  /** A record, and since when it has been the same. */
  private static final class Watched {
    final PendingExtent seen;
    final long since = System.nanoTime();

    Watched(PendingExtent seen) {
      this.seen = seen;
    }

    boolean isFor(Duration time) {
      return System.nanoTime() - since >= time.toNanos();
    }
  }
}
