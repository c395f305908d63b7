package io.tensorflowignite.security;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Limits the rate at which one peer may try passwords: a number at once, then one for each
 * interval. A try is counted when it begins, so that concurrent tries cannot bypass the limit, and
 * refunded unless the password was wrong.
 */
final class PasswordRateLimit {
  private static final int MAX_PEERS = 10_000;

  private final int atOnce;
  private final long intervalNanos;
  private final LongSupplier clock;
  private final Cache<String, Tries> peers;

  /** The moment at which all tries of a peer will be available again. */
  private static final class Tries {
    long usedUntil;

    Tries(long now) {
      usedUntil = now;
    }
  }

  PasswordRateLimit(int atOnce, Duration interval, LongSupplier clock) {
    this.atOnce = atOnce;
    this.intervalNanos = interval.toNanos();
    this.clock = clock;
    this.peers =
        CacheBuilder.newBuilder()
            .maximumSize(MAX_PEERS)
            .expireAfterAccess(atOnce * intervalNanos, TimeUnit.NANOSECONDS)
            .build();
  }

  /** False: the peer must wait. */
  boolean tryAcquire(String peer) {
    long now = clock.getAsLong();
    Tries tries = of(peer, now);
    synchronized (tries) {
      if (tries.usedUntil - now < 0) {
        tries.usedUntil = now;
      }
      if (tries.usedUntil - now > (atOnce - 1) * intervalNanos) {
        return false;
      }
      tries.usedUntil += intervalNanos;
      return true;
    }
  }

  void refund(String peer) {
    Tries tries = of(peer, clock.getAsLong());
    synchronized (tries) {
      tries.usedUntil -= intervalNanos;
    }
  }

  private Tries of(String peer, long now) {
    Tries tries = peers.getIfPresent(peer);
    return tries != null ? tries : peers.asMap().computeIfAbsent(peer, any -> new Tries(now));
  }
}
