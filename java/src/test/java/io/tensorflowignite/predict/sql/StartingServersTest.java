package io.tensorflowignite.predict.sql;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class StartingServersTest {
  private static final long LIMIT = TimeUnit.SECONDS.toNanos(StartingServers.LIMIT_S);

  /** System.nanoTime may overflow. */
  private static final long FIRST = Long.MAX_VALUE - 1;

  private final StartingServers servers = new StartingServers();

  @Test
  public void aServerIsWaitedForUntilItsLimitAfterTheFirstQueryThatMetIt() {
    assertTrue(servers.areAwaited(List.of("a"), FIRST));
    assertTrue(servers.areAwaited(List.of("a"), FIRST + LIMIT - 1));
    assertFalse(servers.areAwaited(List.of("a"), FIRST + LIMIT));
    assertTrue(servers.areAwaited(List.of("b"), FIRST + LIMIT));
  }

  @Test
  public void aServerThatDoesNotStartEndsTheWaitForOthersWhoseTimeGoesOn() {
    servers.areAwaited(List.of("a"), FIRST);
    assertFalse(servers.areAwaited(List.of("a", "b"), FIRST + LIMIT));
    assertTrue(servers.areAwaited(List.of("b"), FIRST + 2 * LIMIT - 1));
    assertFalse(servers.areAwaited(List.of("b"), FIRST + 2 * LIMIT));
    // A server whose service starts again is waited for again.
    servers.clear();
    assertTrue(servers.areAwaited(List.of("a"), FIRST + LIMIT));
  }
}
