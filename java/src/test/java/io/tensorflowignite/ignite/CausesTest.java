package io.tensorflowignite.ignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import javax.cache.CacheException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.internal.processors.cache.CacheInvalidStateException;
import org.apache.ignite.internal.processors.cache.CacheStoppedException;
import org.apache.ignite.internal.processors.cache.distributed.dht.IgniteClusterReadOnlyException;
import org.junit.Test;

public class CausesTest {
  @Test
  public void aCauseIsFoundBelowOthersAndAmongThoseThatWereSuppressed() {
    Exception cause = new TimeoutException("late");
    assertTrue(Causes.has(new CacheException(new IgniteException(cause)), TimeoutException.class));
    Exception suppressing = new IgniteException("other");
    suppressing.addSuppressed(cause);
    assertTrue(Causes.has(suppressing, IllegalStateException.class, TimeoutException.class));
    assertFalse(Causes.has(suppressing, IllegalStateException.class));
  }

  @Test
  public void aNodeStopsOrItsThreadsAreInterrupted() {
    assertTrue(Causes.isStoppingNode(new IgniteException(new NodeStoppingException("stopping"))));
    assertTrue(Causes.isStop(new IgniteException(new NodeStoppingException("stopping"))));
    for (Exception interrupted :
        List.of(new InterruptedException(), new IgniteInterruptedException("interrupted"))) {
      assertTrue(Causes.isStop(new CacheException(interrupted)));
      assertFalse(Causes.isStoppingNode(interrupted));
    }
    assertFalse(Causes.isStop(new IgniteException("other")));
  }

  @Test
  public void theExceptionOfAStoppedCacheIsReturned() {
    Exception stopped = new CacheStoppedException("files");
    assertSame(stopped, Causes.stoppedCache(new CacheException(stopped)).get());
    assertTrue(Causes.isStoppedCache(new CacheException(stopped)));
    Exception other = new CacheException("other");
    assertEquals(Optional.empty(), Causes.stoppedCache(other));
    assertFalse(Causes.isStoppedCache(other));
  }

  @Test
  public void aClusterThatIsReadOnlyHasLostNothing() {
    Exception readOnly =
        new CacheException(
            new CacheInvalidStateException(new IgniteClusterReadOnlyException("read-only")));
    assertTrue(Causes.isReadOnly(readOnly));
    assertFalse(Causes.isLoss(readOnly));
    Exception lost = new CacheException(new CacheInvalidStateException("lost"));
    assertTrue(Causes.isLoss(lost));
    assertFalse(Causes.isReadOnly(lost));
  }
}
