package io.tensorflowignite.base;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.NodeLoop;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.ignite.IgniteLogger;

/**
 * A loop that keeps a node going: a thread that repeats a pass until the node stops.
 *
 * <p>Only its closing ends it. Whatever a pass throws is logged at a bounded rate, and the next
 * pass follows after a pause: also an Error, such as a lack of memory or a class that cannot be
 * loaded, and an interruption that is no closing. {@link #fault} says whether the loop has failed
 * or is silent.
 */
public final class Loop {
  /** One pass of a loop. */
  public interface Pass {
    void run() throws Exception;
  }

  /** The failure of a pass by one of its parts. */
  private static final class PartFailure extends RuntimeException {
    PartFailure(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** A failure is shown for this time, so that a reader of the state observes each failure. */
  private static final Duration SHOWN = Duration.ofMinutes(1);

  private static final int MAX_ERROR = 300;

  private final String name;
  private final Duration limit;
  private final boolean continuous;
  private final BooleanSupplier closed;
  private final RateLimitedLog log;
  private final LongSupplier nanos;

  private boolean passing;
  private long aliveAt;
  private long completedAt;
  private long failures;
  private String error = "";
  private long failedAt;
  private Throwable ofPart;

  /**
   * @param limit the longest time between two signs of life; null: a pass may wait for any time
   * @param continuous whether passes follow one another; otherwise they are run on request
   * @param closed whether the loop shall end; failures do not count from then on
   */
  Loop(
      String name,
      Duration limit,
      boolean continuous,
      BooleanSupplier closed,
      IgniteLogger log,
      LongSupplier nanos) {
    this.name = name;
    this.limit = limit;
    this.continuous = continuous;
    this.closed = closed;
    this.log = new RateLimitedLog(log);
    this.nanos = nanos;
    this.aliveAt = nanos.getAsLong();
    this.completedAt = aliveAt;
  }

  /** Repeats a pass until this loop is closed; after a failed pass there is a pause. */
  public void run(Duration pause, Pass pass) {
    boolean completed = true;
    while (!closed.getAsBoolean()) {
      try {
        if (!completed) {
          pause(pause);
        }
        completed = false;
        completed = pass(pass);
      } catch (Throwable inTheLoopItself) {
        // Memory may be too short even to note a failure: the next pass tries again.
        completed = false;
      }
    }
  }

  /** Runs one pass. Returns whether it was completed, without a failure. */
  public boolean pass(Pass pass) {
    begin();
    Throwable failure = null;
    try {
      pass.run();
    } catch (Throwable thrown) {
      failure = thrown;
    }
    if (failure instanceof InterruptedException && closed.getAsBoolean()) {
      Thread.currentThread().interrupt();
      return end(null);
    }
    if (failure == null) {
      failure = ofPart();
    } else if (failure instanceof InterruptedException || Thread.interrupted()) {
      // The next pass must not end at its first wait.
      Thread.interrupted();
      report("A loop of the node continues after an interruption [loop=" + name + "]", failure);
    } else {
      report("A loop of the node continues after an error [loop=" + name + "]", failure);
    }
    return end(failure);
  }

  /**
   * Runs an independent part of a pass: if it fails, the parts after it are run nevertheless, and
   * the pass counts as failed at its end.
   *
   * @param object the object of the part, for the log: "job 1f3a"
   */
  public void part(String object, Pass part) throws InterruptedException {
    try {
      part.run();
    } catch (InterruptedException e) {
      throw e;
    } catch (Throwable thrown) {
      report(
          "A part of a pass has failed, the others continue [loop="
              + name
              + ", part="
              + object
              + "]",
          thrown);
      failPart(new PartFailure(object + ": " + text(thrown), thrown));
    }
    alive();
  }

  /** A sign of life in a long pass. */
  public synchronized void alive() {
    aliveAt = nanos.getAsLong();
  }

  /** The fault of this loop; empty: it works. */
  synchronized Optional<NodeLoop> fault() {
    long now = nanos.getAsLong();
    boolean failed = !error.isEmpty() && (failures > 0 || now - failedAt < SHOWN.toNanos());
    boolean silent = limit != null && (passing || continuous) && now - aliveAt > limit.toNanos();
    if (closed.getAsBoolean() || !(failed || silent)) {
      return Optional.empty();
    }
    long sinceMs = TimeUnit.NANOSECONDS.toMillis(now - completedAt);
    return Optional.of(
        NodeLoop.newBuilder()
            .setName(name)
            .setError(failed ? error : "")
            .setCompletedAt(Timestamps.fromMillis(System.currentTimeMillis() - sinceMs))
            .setFailures(failures)
            .build());
  }

  boolean isClosed() {
    return closed.getAsBoolean();
  }

  private synchronized void begin() {
    passing = true;
    aliveAt = nanos.getAsLong();
    ofPart = null;
  }

  private synchronized Throwable ofPart() {
    return ofPart;
  }

  private synchronized void failPart(Throwable failure) {
    ofPart = failure;
  }

  private synchronized boolean end(Throwable failure) {
    passing = false;
    aliveAt = nanos.getAsLong();
    if (failure == null) {
      completedAt = aliveAt;
      failures = 0;
      return true;
    }
    failures++;
    failedAt = aliveAt;
    error = text(failure);
    return false;
  }

  /** Memory may be too short even for a line of the log. */
  private void report(String text, Throwable failure) {
    if (closed.getAsBoolean()) {
      return;
    }
    try {
      log.error(text, failure);
    } catch (Throwable unlogged) {
      alive();
    }
  }

  private void pause(Duration pause) {
    try {
      Thread.sleep(pause.toMillis());
    } catch (InterruptedException e) {
      if (closed.getAsBoolean()) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static String text(Throwable failure) {
    String text =
        (failure instanceof PartFailure ? failure.getMessage() : String.valueOf(failure))
            .replaceAll("\\s+", " ");
    return text.length() <= MAX_ERROR ? text : text.substring(0, MAX_ERROR) + " …";
  }
}
