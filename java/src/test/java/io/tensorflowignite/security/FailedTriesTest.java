package io.tensorflowignite.security;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.Test;

public class FailedTriesTest {
  private final AtomicLong now = new AtomicLong(-5);
  private final FailedTries tries = new FailedTries(3, Duration.ofSeconds(1), now::get);

  @Test
  public void someMayFailAtOnceThenOneEachInterval() {
    for (int i = 0; i < 3; i++) {
      assertTrue(tries.begin("peer"));
    }
    assertFalse(tries.begin("peer"));
    now.addAndGet(Duration.ofMillis(999).toNanos());
    assertFalse(tries.begin("peer"));
    now.addAndGet(Duration.ofMillis(1).toNanos());
    assertTrue(tries.begin("peer"));
    assertFalse(tries.begin("peer"));
  }

  @Test
  public void whatSucceedsIsNotCounted() {
    for (int i = 0; i < 100; i++) {
      assertTrue(tries.begin("peer"));
      tries.giveBack("peer");
    }
  }

  @Test
  public void onePeerDoesNotHoldUpAnother() {
    while (tries.begin("peer")) {
      // Until it must wait.
    }
    assertTrue(tries.begin("other"));
  }

  @Test
  public void longPatienceGivesNoMoreThanTheFirstTries() {
    tries.begin("peer");
    now.addAndGet(Duration.ofHours(1).toNanos());
    for (int i = 0; i < 3; i++) {
      assertTrue(tries.begin("peer"));
    }
    assertFalse(tries.begin("peer"));
  }
}
