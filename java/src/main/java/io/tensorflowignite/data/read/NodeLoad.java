package io.tensorflowignite.data.read;

import io.tensorflowignite.ignite.WorkPools;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.Ignite;

/**
 * Observes the application's work on this node, while streams read: how many operations Ignite's
 * pools for gets, puts and thin clients complete, and how long an empty task waits for a thread of
 * the first of them. Has no thread of its own: the threads of the streams call it. Thread-safe.
 */
final class NodeLoad {
  private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final WorkPools pools;
  private final YieldRule rule;
  private final AtomicLong next = new AtomicLong(System.nanoTime());
  private final AtomicLong probes = new AtomicLong();
  private volatile Probe probe;

  NodeLoad(Ignite ignite, YieldRule rule) {
    pools = new WorkPools(ignite);
    this.rule = rule;
  }

  /** Makes an observation if the last one is old enough; returns the share of each stream. */
  double share(long now) {
    long due = next.get();
    if (now - due >= 0 && next.compareAndSet(due, now + INTERVAL_NANOS)) {
      observe(now);
    }
    return rule.share();
  }

  private void observe(long now) {
    Probe last = probe;
    if (last != null) {
      rule.observe(now, operations(), last.waited(now));
      if (last.begun == 0) {
        return;
      }
    }
    Probe started = new Probe(now);
    try {
      // Each time another thread of the pool.
      pools.execute(probes.get(), started);
      probe = started;
    } catch (RejectedExecutionException stopping) {
      probe = null;
    }
  }

  private long operations() {
    return pools.completed() - probes.get();
  }

  private final class Probe implements Runnable {
    private final long submitted;

    /** 0: it waits. */
    private volatile long begun;

    Probe(long submitted) {
      this.submitted = submitted;
    }

    @Override
    public void run() {
      long now = System.nanoTime();
      probes.incrementAndGet();
      begun = now == 0 ? 1 : now;
    }

    long waited(long now) {
      return (begun == 0 ? now : begun) - submitted;
    }
  }
}
