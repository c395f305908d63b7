package io.tensorflowignite.base;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.NodeLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

/**
 * Promise (nodes): Only its closing ends a loop of a node, and no exception, error or interruption.
 */
public class LoopTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration PAUSE = Duration.ofMillis(1);

  private final AtomicBoolean closed = new AtomicBoolean();
  private final AtomicLong nanos = new AtomicLong();
  private final Loop loop = loop(LIMIT, true);

  @Test
  public void nothingThatAPassThrowsEndsTheLoop() {
    List<Throwable> failures =
        List.of(
            new IllegalStateException("a row"),
            new Exception("checked"),
            new OutOfMemoryError("Java heap space"),
            new StackOverflowError(),
            new NoClassDefFoundError("io/tensorflowignite/Missing"),
            new ThreadDeath(),
            new InterruptedException("by a stranger"));
    AtomicInteger passes = new AtomicInteger();
    loop.run(
        PAUSE,
        () -> {
          int pass = passes.getAndIncrement();
          if (pass < failures.size()) {
            LoopTest.<RuntimeException>raise(failures.get(pass));
          }
          closed.set(true);
        });
    assertEquals(failures.size() + 1, passes.get());
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  public void anInterruptionThatIsNoClosingDoesNotDisturbTheNextPass() {
    assertFalse(
        loop.pass(
            () -> {
              Thread.currentThread().interrupt();
              throw new IllegalStateException("a cache call was interrupted");
            }));
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  public void anInterruptionByItsClosingEndsTheLoopWithoutAFault() {
    loop.run(
        PAUSE,
        () -> {
          closed.set(true);
          throw new InterruptedException();
        });
    assertTrue("the thread is still interrupted", Thread.interrupted());
    closed.set(false);
    assertFalse(loop.fault().isPresent());
  }

  @Test
  public void aFailureIsShownWithItsErrorUntilAMinuteAfterIt() {
    loop.pass(() -> raise(new OutOfMemoryError("Java heap space")));
    NodeLoop fault = loop.fault().orElseThrow();
    assertEquals("the loop", fault.getName());
    assertEquals("java.lang.OutOfMemoryError: Java heap space", fault.getError());
    assertEquals(1, fault.getFailures());
    loop.pass(() -> {});
    assertEquals(0, loop.fault().orElseThrow().getFailures());
    pass(Duration.ofSeconds(61));
    loop.pass(() -> {});
    assertFalse(loop.fault().isPresent());
  }

  @Test
  public void aContinuousLoopIsSilentAfterItsLimit() {
    loop.pass(() -> {});
    pass(LIMIT);
    assertFalse(loop.fault().isPresent());
    pass(Duration.ofMillis(1));
    NodeLoop fault = loop.fault().orElseThrow();
    assertEquals("", fault.getError());
    loop.pass(
        () -> {
          pass(LIMIT);
          loop.alive();
          pass(LIMIT);
          assertFalse("a sign of life in a pass", loop.fault().isPresent());
          pass(Duration.ofMillis(1));
          assertTrue("a pass that takes too long", loop.fault().isPresent());
        });
    assertFalse(loop.fault().isPresent());
  }

  @Test
  public void aLoopOnRequestIsSilentOnlyInAPass() {
    Loop onRequest = loop(LIMIT, false);
    pass(LIMIT.multipliedBy(2));
    assertFalse(onRequest.fault().isPresent());
    onRequest.pass(
        () -> {
          pass(LIMIT.multipliedBy(2));
          assertTrue(onRequest.fault().isPresent());
        });
  }

  @Test
  public void aPartThatFailsLeavesTheOtherPartsAndFailsThePass() {
    List<String> done = new ArrayList<>();
    boolean completed =
        loop.pass(
            () -> {
              loop.part("job a", () -> raise(new StackOverflowError()));
              loop.part("job b", () -> done.add("b"));
            });
    assertEquals(List.of("b"), done);
    assertFalse(completed);
    String error = loop.fault().orElseThrow().getError();
    assertTrue(error, error.contains("job a: java.lang.StackOverflowError"));
    assertTrue(loop.pass(() -> {}));
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private Loop loop(Duration limit, boolean continuous) {
    return new Loop("the loop", limit, continuous, closed::get, new NullLogger(), nanos::get);
  }

  @SuppressWarnings("unchecked") // Throws a checked exception or an Error as it is.
  private static <T extends Throwable> void raise(Throwable failure) throws T {
    throw (T) failure;
  }
}
