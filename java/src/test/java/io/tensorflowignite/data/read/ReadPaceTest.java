package io.tensorflowignite.data.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.Context;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.Batch.ColumnData;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.v1.ReadLimit;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.junit.Test;

public class ReadPaceTest {
  private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);

  private double share = 1;
  private long used;
  private long slept;

  private ReadPace pace(List<RateLimit> bytes, List<RateLimit> rows) {
    return new ReadPace(now -> share, bytes, rows, () -> used, this::now, nanos -> slept += nanos);
  }

  private long now() {
    return used + slept;
  }

  /** Rows that need so much processor time together. */
  private void read(ReadPace pace, long nanos) throws InterruptedException {
    for (int row = 0; row < 100_000; row++) {
      used += nanos / 100_000;
      pace.afterRow();
    }
  }

  @Test
  public void aStreamPausesSuchThatItUsesItsShareOfAProcessor() throws Exception {
    read(pace(List.of(), List.of()), 1_000 * MILLISECOND);
    assertEquals("its share is whole", 0, slept);
    share = 0.25;
    read(pace(List.of(), List.of()), 1_000 * MILLISECOND);
    assertEquals(3_000 * MILLISECOND, slept, 20 * MILLISECOND);
  }

  @Test
  public void aPauseThatIsDueEndsWhenTheOtherWorkEnds() throws Exception {
    share = 0.1;
    ReadPace pace =
        new ReadPace(
            now -> share,
            List.of(),
            List.of(),
            () -> used,
            this::now,
            nanos -> {
              slept += nanos;
              share = 1;
            });
    used = 1_000 * MILLISECOND;
    pace.afterRow();
    assertTrue(slept <= 20 * MILLISECOND);
  }

  @Test
  public void batchesWaitForTheTimeOfTheEarlierOnes() throws Exception {
    try (BufferAllocator allocator = new RootAllocator()) {
      ReadPace ofBytes = pace(List.of(new RateLimit(1_000)), List.of());
      send(ofBytes, allocator, 2);
      assertEquals(500 * MILLISECOND, slept, 100 * MILLISECOND);
      slept = 0;
      ReadPace ofRows = pace(List.of(), List.of(new RateLimit(100)));
      send(ofRows, allocator, 3);
      assertEquals((100 + 200) * MILLISECOND, slept, 100 * MILLISECOND);
    }
  }

  @Test
  public void aCallThatEndsWaitsNoLongerAndFreesItsBatch() throws Exception {
    ExecutorService streams = Executors.newSingleThreadExecutor();
    try (BufferAllocator allocator = new RootAllocator()) {
      RateLimit limit = new RateLimit(1);
      limit.reserve(1_000_000, System.nanoTime());
      ReadPace pace =
          new ReadPace(
              null,
              List.of(limit),
              List.of(),
              () -> 0,
              System::nanoTime,
              ReadPace::sleepWithoutTurn);
      Context.CancellableContext call = Context.current().withCancellation();
      ReadTurns turns = new ReadTurns(1);
      CountDownLatch begun = new CountDownLatch(1);
      Future<?> stream =
          streams.submit(
              call.wrap(
                  () -> {
                    turns.begin();
                    begun.countDown();
                    try {
                      pace.beforeBatch(batch(allocator, 1, 1));
                      return null;
                    } finally {
                      turns.end();
                    }
                  }));
      begun.await();
      // It waits without its turn, which others need.
      turns.begin();
      turns.end();
      assertFalse(stream.isDone());
      call.cancel(null);
      ExecutionException ended =
          assertThrows(ExecutionException.class, () -> stream.get(30, TimeUnit.SECONDS));
      assertEquals(InterruptedException.class, ended.getCause().getClass());
      assertEquals(1, turns.free());
    } finally {
      streams.shutdownNow();
    }
  }

  @Test
  public void streamsOfAGroupShareItsLimitWhileOneOfThemIsOpen() throws Exception {
    ReadPaces paces = new ReadPaces(now -> 1, ReadRate.UNLIMITED);
    ReadLimit job = ReadLimit.newBuilder().setRowsPerSecond(1).setGroup("7f3a").build();
    paces.begin(job);
    paces.begin(job);
    paces.begin(job.toBuilder().setGroup("other").build());
    paces.begin(ReadLimit.newBuilder().setRowsPerSecond(1).build());
    paces.begin(ReadLimit.getDefaultInstance());
    assertEquals(2, paces.groups());
    paces.end(job);
    assertEquals(2, paces.groups());
    paces.end(job);
    paces.end(ReadLimit.newBuilder().setRowsPerSecond(1).build());
    assertEquals(1, paces.groups());
  }

  @Test
  public void theNextEpochOfAGroupWaitsForTheRowsOfTheLastOne() throws Exception {
    ReadPaces paces = new ReadPaces(now -> 1, ReadRate.UNLIMITED);
    ReadLimit job = ReadLimit.newBuilder().setRowsPerSecond(100).setGroup("7f3a").build();
    try (BufferAllocator allocator = new RootAllocator()) {
      long begin = System.nanoTime();
      for (int epoch = 0; epoch < 3; epoch++) {
        send(paces.begin(job), allocator, 1);
        paces.end(job);
      }
      assertTrue(System.nanoTime() - begin >= 200 * MILLISECOND);
    }
  }

  /** Batches of 10 rows and 500 bytes. */
  private static void send(ReadPace pace, BufferAllocator allocator, int batches)
      throws InterruptedException {
    for (int i = 0; i < batches; i++) {
      try (Batch batch = batch(allocator, 10, 500)) {
        pace.beforeBatch(batch);
      }
    }
  }

  private static Batch batch(BufferAllocator allocator, int rows, int bytes) {
    ArrowBuf buffer = allocator.buffer(bytes);
    buffer.writerIndex(bytes);
    return new Batch(rows, List.of(new ColumnData(rows, 0, List.of(buffer), List.of())));
  }
}
