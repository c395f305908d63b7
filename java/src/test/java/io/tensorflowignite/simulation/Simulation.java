package io.tensorflowignite.simulation;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Virtual time, one queue of events, and one source of random numbers: a seed is one history. */
final class Simulation {
  private static final class Event {
    final long at;
    final long number;
    final Runnable action;

    Event(long at, long number, Runnable action) {
      this.at = at;
      this.number = number;
      this.action = action;
    }
  }

  final Random random;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(
          Comparator.<Event>comparingLong(event -> event.at)
              .thenComparingLong(event -> event.number));
  private final StringBuilder log;
  private long now = TimeUnit.SECONDS.toNanos(1_000);
  private final long begin = now;
  private long number;

  /**
   * @param logs whether the history is written down, which takes time
   */
  Simulation(long seed, boolean logs) {
    this.random = new Random(seed);
    this.log = logs ? new StringBuilder() : null;
  }

  /** The virtual time, in nanoseconds. */
  long nanos() {
    return now;
  }

  /** The virtual time since the begin, in milliseconds. */
  long millis() {
    return TimeUnit.NANOSECONDS.toMillis(now - begin);
  }

  /** Runs an action after a time in milliseconds. */
  void after(long millis, Runnable action) {
    at(now + TimeUnit.MILLISECONDS.toNanos(millis), action);
  }

  void at(long nanos, Runnable action) {
    events.add(new Event(Math.max(nanos, now), number++, action));
  }

  /** Runs the next event; returns false if there is none. */
  boolean next() {
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    now = event.at;
    event.action.run();
    return true;
  }

  /** A random number from a range, both ends included. */
  int between(int low, int high) {
    return low + random.nextInt(high - low + 1);
  }

  boolean chance(double probability) {
    return random.nextDouble() < probability;
  }

  void log(String format, Object... values) {
    if (log != null) {
      log.append(String.format("%9.3f ", millis() / 1000.0));
      log.append(String.format(format, values)).append('\n');
    }
  }

  String history() {
    return log == null ? "" : log.toString();
  }
}
