package io.tensorflowignite.data.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.Context;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
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
    Future<String> first =
        streams.submit(
            inTurn(
                () ->
                    ReadTurns.pause(
                        () -> {
                          waits.countDown();
                          read.await();
                          return "sent";
                        })));
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
  public void aCallThatEndsWaitsForNoTurnAndTakesNone() throws Exception {
    turns.begin();
    Context.CancellableContext call = Context.current().withCancellation();
    Future<?> first = streams.submit(call.wrap(inTurn(() -> null)));
    while (turns.waiting() == 0) {
      Thread.sleep(1);
    }
    call.cancel(null);
    ExecutionException ended =
        assertThrows(ExecutionException.class, () -> first.get(SECONDS, TimeUnit.SECONDS));
    assertTrue(ended.getCause() instanceof InterruptedException);
    assertEquals(0, turns.waiting());
    turns.end();
    assertEquals(1, turns.free());
  }

  @Test
  public void aCallThatHasEndedDoesNotReadOnAfterAWait() throws Exception {
    Context.CancellableContext call = Context.current().withCancellation();
    Future<?> read =
        streams.submit(call.wrap(inTurn(() -> ReadTurns.pause(() -> call.cancel(null)))));
    assertThrows(ExecutionException.class, () -> read.get(SECONDS, TimeUnit.SECONDS));
    assertEquals(1, turns.free());
  }

  @Test
  public void turnsAreGivenInTheOrderOfTheWaits() throws Exception {
    turns.begin();
    List<Integer> order = Collections.synchronizedList(new ArrayList<>());
    List<Future<?>> waiting = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      int number = i;
      waiting.add(streams.submit(inTurn(() -> order.add(number))));
      while (turns.waiting() <= i) {
        Thread.sleep(1);
      }
    }
    turns.end();
    for (Future<?> each : waiting) {
      each.get(SECONDS, TimeUnit.SECONDS);
    }
    assertEquals(List.of(0, 1, 2, 3, 4), order);
  }

  private <T> Callable<T> inTurn(Callable<T> reading) {
    return () -> {
      turns.begin();
      try {
        return reading.call();
      } finally {
        turns.end();
      }
    };
  }
}
