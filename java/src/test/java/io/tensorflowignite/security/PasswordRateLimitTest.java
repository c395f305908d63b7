package io.tensorflowignite.security;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.Test;

public class PasswordRateLimitTest {
  private final AtomicLong now = new AtomicLong(-5);
  private final PasswordRateLimit tries = new PasswordRateLimit(3, Duration.ofSeconds(1), now::get);

  @Test
  public void someMayFailAtOnceThenOneEachInterval() {
    for (int i = 0; i < 3; i++) {
      assertTrue(tries.tryAcquire("peer"));
    }
    assertFalse(tries.tryAcquire("peer"));
    now.addAndGet(Duration.ofMillis(999).toNanos());
    assertFalse(tries.tryAcquire("peer"));
    now.addAndGet(Duration.ofMillis(1).toNanos());
    assertTrue(tries.tryAcquire("peer"));
    assertFalse(tries.tryAcquire("peer"));
    // A long pause allows no more than the first tries.
    now.addAndGet(Duration.ofHours(1).toNanos());
    for (int i = 0; i < 3; i++) {
      assertTrue(tries.tryAcquire("peer"));
    }
    assertFalse(tries.tryAcquire("peer"));
  }

  @Test
  public void successesAreNotCounted() {
    for (int i = 0; i < 100; i++) {
      assertTrue(tries.tryAcquire("peer"));
      tries.refund("peer");
    }
  }

  @Test
  public void onePeerDoesNotHoldUpAnother() {
    while (tries.tryAcquire("peer")) {
      // Until the peer must wait.
    }
    assertTrue(tries.tryAcquire("other"));
  }
}
