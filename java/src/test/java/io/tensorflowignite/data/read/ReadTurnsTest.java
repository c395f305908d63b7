package io.tensorflowignite.data.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.After;
import org.junit.Test;

public class ReadTurnsTest {
  private static final long SECONDS = 30;

  private final ReadTurns turns = new ReadTurns(1);
  private final ExecutorService streams = Executors.newCachedThreadPool();

  @After
  public void endThreads() throws InterruptedException {
    streams.shutdownNow();
    assertTrue(streams.awaitTermination(SECONDS, TimeUnit.SECONDS));
  }

  @Test
  public void aStreamThatWaitsForItsReaderLeavesItsTurnToAnother() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch read = new CountDownLatch(1);
    Future<Object> first =
        streams.submit(
            () -> {
              turns.begin();
              try {
                return ReadTurns.pause(
                    () -> {
                      waits.countDown();
                      read.await();
                      return "sent";
                    });
              } finally {
                turns.end();
              }
            });
    waits.await();
    turns.begin();
    read.countDown();
    // It has its answer, and waits for its turn.
    assertFalse(first.isDone());
    turns.end();
    assertEquals("sent", first.get(SECONDS, TimeUnit.SECONDS));
  }

  @Test
  public void aWaitWithinAWaitLeavesOnlyOneTurn() throws Exception {
    turns.begin();
    int free = ReadTurns.pause(() -> ReadTurns.pause(turns::free));
    assertEquals(1, free);
    assertEquals(0, turns.free());
    turns.end();
    assertEquals(1, turns.free());
  }

  @Test
  public void aThreadWithoutATurnWaitsAsItIs() throws InterruptedException {
    assertEquals("sent", ReadTurns.pause(() -> "sent"));
  }
}
