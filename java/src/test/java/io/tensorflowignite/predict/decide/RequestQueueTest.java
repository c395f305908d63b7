package io.tensorflowignite.predict.decide;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.Test;

/** Promise (prediction): Rows that wait for a model are bounded, and a late request is not sent. */
public class RequestQueueTest {
  private static final long DELAY = 2_000_000;
  private static final long LATE = 1_000_000_000;
  private static final long[] ORIGINS = {0, 17, Long.MAX_VALUE - DELAY / 2, Long.MIN_VALUE};

  @Test
  public void requestsWaitForOthersForTheDelayAndNoLonger() {
    for (long begin : ORIGINS) {
      RequestQueue<String> queue = queue(10, 100);
      assertEquals(RequestQueue.NEVER, queue.untilNext(begin));
      assertTrue(queue.offer("a", 1, 1, 0, begin, begin + LATE));
      assertTrue(queue.offer("b", 1, 1, 0, begin + DELAY / 2, begin + LATE));
      assertEquals(List.of(), queue.take(begin + DELAY - 1, false));
      assertEquals(1, queue.untilNext(begin + DELAY - 1));
      assertEquals(List.of("a", "b"), queue.take(begin + DELAY, false));
      assertEquals(0, queue.waitingRows());
    }
  }

  @Test
  public void aFullBatchIsDueAtOnceAndHasNoMoreRowsThanItMay() {
    RequestQueue<String> queue = queue(10, 100);
    queue.offer("a", 1, 4, 0, 0, LATE);
    queue.offer("b", 1, 4, 0, 0, LATE);
    assertEquals(List.of(), queue.take(0, false));
    queue.offer("c", 1, 4, 0, 0, LATE);
    assertEquals(0, queue.untilNext(0));
    assertEquals(List.of("a", "b"), queue.take(0, false));
    assertEquals(List.of(), queue.take(0, false));
    assertEquals(List.of("c"), queue.take(DELAY, false));
  }

  @Test
  public void aRequestWithMoreRowsThanABatchIsOneOfItsOwn() {
    RequestQueue<String> queue = queue(10, 100);
    queue.offer("a", 1, 1, 0, 0, LATE);
    queue.offer("large", 1, 500, 0, 0, LATE);
    assertEquals("waiting rows are bounded", 1, queue.waitingRows());
    assertEquals(List.of("a"), queue.take(DELAY, false));
    assertTrue(queue.offer("large", 1, 500, 0, DELAY, LATE));
    assertEquals(List.of("large"), queue.take(DELAY, false));
  }

  @Test
  public void aFullQueueRefusesAtOnce() {
    RequestQueue<String> queue = queue(10, 20);
    assertTrue(queue.offer("a", 1, 12, 0, 0, LATE));
    assertFalse(queue.offer("b", 2, 9, 0, 0, LATE));
    assertTrue(queue.offer("c", 2, 8, 0, 0, LATE));
    queue.take(0, false);
    assertTrue(queue.offer("d", 2, 12, 0, 0, LATE));
  }

  @Test
  public void bytesAreBoundedAsRowsAre() {
    RequestQueue<String> queue =
        new RequestQueue<>(new RequestQueue.Size(10, 100), new RequestQueue.Size(99, 250), DELAY);
    assertTrue(queue.offer("large", 1, 1, 1000, 0, LATE));
    assertFalse(queue.offer("more", 1, 1, 1, 0, LATE));
    assertEquals(List.of("large"), queue.take(0, false));
    assertTrue(queue.offer("a", 1, 1, 90, 0, LATE));
    assertEquals(List.of(), queue.take(0, false));
    assertTrue(queue.offer("b", 1, 1, 90, 0, LATE));
    assertFalse(queue.offer("c", 1, 1, 90, 0, LATE));
    assertEquals(List.of("a"), queue.take(0, false));
    assertTrue(queue.offer("c", 1, 1, 10, 0, LATE));
    assertEquals(List.of("b", "c"), queue.take(0, false));
    assertTrue(queue.isEmpty());
  }

  @Test
  public void anIdleProcessWaitsForNoOthersIfTheRequestBeforeWasAlone() {
    RequestQueue<String> queue = queue(10, 100);
    queue.offer("first", 1, 1, 0, 0, LATE);
    assertEquals(List.of("first"), queue.take(0, true));
    queue.offer("a", 1, 1, 0, 1, LATE);
    queue.offer("b", 1, 1, 0, 2, LATE);
    assertEquals("the process computes", List.of(), queue.take(2, false));
    assertEquals(List.of("a", "b"), queue.take(3, true));
    queue.offer("c", 1, 1, 0, 4, LATE);
    assertEquals("others call too", List.of(), queue.take(4, true));
    assertEquals(DELAY, queue.untilNext(4));
    assertEquals(List.of("c"), queue.take(4 + DELAY, true));
    queue.offer("d", 1, 1, 0, 5 + DELAY, LATE);
    assertEquals(List.of("d"), queue.take(5 + DELAY, true));
    queue.offer("e", 1, 1, 0, 6 + DELAY, LATE);
    assertEquals("beside another batch", List.of("e"), queue.take(6 + 2 * DELAY, false));
    queue.offer("f", 1, 1, 0, 7 + 2 * DELAY, LATE);
    assertEquals(List.of(), queue.take(7 + 2 * DELAY, true));
  }

  private static <R> RequestQueue<R> queue(int batchRows, int waitingRows) {
    return new RequestQueue<>(
        new RequestQueue.Size(batchRows, Long.MAX_VALUE),
        new RequestQueue.Size(waitingRows, Long.MAX_VALUE),
        DELAY);
  }

  @Test
  public void aRequestWhoseDeadlineHasPassedIsInNoBatch() {
    RequestQueue<String> queue = queue(10, 20);
    queue.offer("late", 1, 5, 0, 0, DELAY / 4);
    queue.offer("good", 1, 5, 0, 0, LATE);
    assertEquals(DELAY / 4, queue.untilDeadline(0));
    assertEquals(List.of("late"), queue.expire(DELAY / 4));
    assertEquals(List.of("good"), queue.take(DELAY, false));
    assertEquals(List.of(), queue.expire(Long.MAX_VALUE / 2));
  }

  @Test
  public void requestsOfDifferentShapesAreInDifferentBatchesAndNoneWaitsLongerForThat() {
    RequestQueue<String> queue = queue(4, 100);
    queue.offer("narrow", "n", 1, 0, 0, LATE);
    for (int i = 0; i < 8; i++) {
      queue.offer("wide" + i, "w", 1, 0, 1, LATE);
    }
    assertEquals(List.of("wide0", "wide1", "wide2", "wide3"), queue.take(2, false));
    assertEquals("the oldest first", List.of("narrow"), queue.take(DELAY, false));
    assertEquals(4, queue.take(DELAY, false).size());
  }

  @Test
  public void inAnyOrderOfEventsEveryRequestLeavesOnceAndInOrderWithinItsGroup() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      RequestQueue<int[]> queue = queue(8, 64);
      int[] last = {-1, -1, -1};
      List<int[]> left = new ArrayList<>();
      int accepted = 0;
      long now = random.nextLong();
      for (int i = 0; i < 300; i++) {
        now += random.nextInt((int) DELAY);
        int group = random.nextInt(3);
        int rows = 1 + random.nextInt(10);
        if (queue.offer(new int[] {i, group, rows}, group, rows, 0, now, now + 3 * DELAY)) {
          accepted++;
        }
        assertTrue("seed " + seed, queue.waitingRows() <= 64);
        left.addAll(queue.expire(now));
        if (random.nextBoolean()) {
          List<int[]> batch = queue.take(now, random.nextBoolean());
          int sum = 0;
          for (int[] request : batch) {
            assertEquals("seed " + seed, batch.get(0)[1], request[1]);
            assertTrue("seed " + seed, request[0] > last[request[1]]);
            last[request[1]] = request[0];
            sum += request[2];
          }
          assertTrue("seed " + seed, batch.size() <= 1 || sum <= 8);
          left.addAll(batch);
        }
      }
      left.addAll(queue.clear());
      assertEquals("seed " + seed, accepted, left.stream().distinct().count());
      assertEquals("seed " + seed, accepted, left.size());
      assertEquals("seed " + seed, 0, queue.waitingRows());
    }
  }
}
