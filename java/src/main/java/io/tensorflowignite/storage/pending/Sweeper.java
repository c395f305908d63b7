package io.tensorflowignite.storage.pending;

import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.v1.PendingExtent;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
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
 * Removes the blocks of garbage, on its own thread.
 *
 * <p>The node that makes garbage removes its blocks at once. After a minute the oldest node removes
 * them again, and only then the record. The second removal finds the blocks that the first one
 * missed: all of them if that node died, and blocks that were still on their way from their writer.
 *
 * <p>The oldest node measures the age of garbage itself, since the clocks of nodes may differ.
 */
public final class Sweeper implements AutoCloseable {
  private static final Duration GARBAGE_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final Duration PASS_LIMIT = Duration.ofMinutes(10);
  private static final long CLOSE_TIMEOUT_S = 10;

  private final IgniteLogger log;
  private final PendingTable pendings;
  private final Blocks blocks;
  private final Consumer<String> freeDirectory;
  private final Duration writerTimeout;
  private final Duration garbageTimeout;
  private final Duration interval;
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(IdleThreads.daemons("tensorflow-ignite-sweeper"));
  private final AtomicBoolean scanning = new AtomicBoolean();
  private Map<String, Observed> observations = new HashMap<>();
  private final Loop loop;
  private volatile long scannedAt;

  /**
   * @param freeDirectory frees everything in a removed directory
   */
  public Sweeper(
      IgniteLogger log,
      PendingTable pendings,
      Blocks blocks,
      Consumer<String> freeDirectory,
      Duration writerTimeout,
      Loops loops) {
    this(log, pendings, blocks, freeDirectory, writerTimeout, GARBAGE_TIMEOUT, loops);
  }

  /** For tests, with a shorter timeout of garbage. */
  public Sweeper(
      IgniteLogger log,
      PendingTable pendings,
      Blocks blocks,
      Consumer<String> freeDirectory,
      Duration writerTimeout,
      Duration garbageTimeout,
      Loops loops) {
    this.log = log.getLogger(Sweeper.class);
    this.pendings = pendings;
    this.blocks = blocks;
    this.freeDirectory = freeDirectory;
    this.writerTimeout = writerTimeout;
    this.garbageTimeout = garbageTimeout;
    this.interval =
        Collections.min(
            Arrays.asList(INTERVAL, writerTimeout.dividedBy(2), garbageTimeout.dividedBy(2)));
    this.scannedAt = System.nanoTime() - interval.toNanos();
    this.loop = loops.onRequest("sweeper", PASS_LIMIT, thread::isShutdown);
  }

  /** Enqueues the removal of the blocks of new garbage, and returns at once. */
  public void sweep(String id) {
    submit(
        () -> {
          PendingExtent record = pendings.get(id);
          if (record != null && !record.hasWrite()) {
            remove(id, record);
          }
        },
        "garbage " + id);
  }

  /**
   * Enqueues a scan that ends writers after the writer timeout and removes old garbage, and returns
   * at once. The oldest node calls this periodically; a call soon after the last scan does nothing.
   */
  public void sweepOverdue() {
    if (System.nanoTime() - scannedAt < interval.toNanos()
        || !scanning.compareAndSet(false, true)) {
      return;
    }
    submit(
        () -> {
          try {
            scan();
          } finally {
            scannedAt = System.nanoTime();
            scanning.set(false);
          }
        },
        "pending extents");
  }

  private void scan() throws InterruptedException {
    Map<String, Observed> before = observations;
    observations = new HashMap<>();
    pendings
        .all()
        .forEach(
            (id, record) -> {
              Observed known = before.get(id);
              boolean same = known != null && known.record.equals(record);
              observations.put(id, same ? known : new Observed(record));
            });
    for (Map.Entry<String, Observed> entry : observations.entrySet()) {
      loop.part("extent " + entry.getKey(), () -> endOverdue(entry.getKey(), entry.getValue()));
      if (thread.isShutdown()) {
        return;
      }
    }
  }

  private void endOverdue(String id, Observed observed) {
    PendingExtent record = observed.record;
    if (record.hasWrite()) {
      if (observed.isUnchangedFor(writerTimeout) && pendings.markGarbage(id, record)) {
        log.info(
            String.format(
                "Writer abandoned after the writer timeout, its blocks are removed [extent=%s,"
                    + " path=%s, seconds=%d]",
                id, record.getWrite().getPath(), writerTimeout.getSeconds()));
      }
    } else if (observed.isUnchangedFor(garbageTimeout)) {
      remove(id, record);
      pendings.removeGarbage(id, record);
    }
  }

  private void remove(String id, PendingExtent garbage) {
    if (garbage.getDirectoryId().isEmpty()) {
      blocks.remove(id, garbage.getFirst(), garbage.getBlocks());
    } else {
      freeDirectory.accept(garbage.getDirectoryId());
    }
  }

  /** After a failure the next attempt is within two minutes. */
  private void submit(Loop.Pass body, String object) {
    try {
      thread.execute(() -> loop.pass(() -> loop.part(object, body)));
    } catch (RejectedExecutionException closed) {
      // The oldest node removes it later.
    }
  }

  /** The oldest node removes what this one has not removed. */
  @Override
  public void close() {
    thread.shutdownNow();
    try {
      if (!thread.awaitTermination(CLOSE_TIMEOUT_S, TimeUnit.SECONDS)) {
        log.warning("Sweeper did not end within its timeout [seconds=" + CLOSE_TIMEOUT_S + "]");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A record, and the moment since which it has been unchanged. */
  private static final class Observed {
    final PendingExtent record;
    final long since = System.nanoTime();

    Observed(PendingExtent record) {
      this.record = record;
    }

    boolean isUnchangedFor(Duration time) {
      return System.nanoTime() - since >= time.toNanos();
    }
  }
}
