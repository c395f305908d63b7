package io.tensorflowignite.data.column;

import java.sql.Time;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.Date;
import java.util.TimeZone;
import org.apache.arrow.vector.types.TimeUnit;

/**
 * Converts Ignite's dates and times to Arrow's numbers and back. java.util.Date and Timestamp are
 * instants; java.sql's Date and Time are the day and the time of day in this JVM's time zone, as in
 * SQL.
 */
public final class Temporals {
  private static final long DAY_MILLIS = 86_400_000;
  private static final long NANOS = 1_000_000_000;

  /** From this instant on, the time zone's offset gives the same day as Java's calendars. */
  private static final long MILLIS_OF_1900 = -2_208_988_800_000L;

  private Temporals() {}

  /** Units in one second. */
  public static long perSecond(TimeUnit unit) {
    switch (unit) {
      case SECOND:
        return 1;
      case MILLISECOND:
        return 1_000;
      case MICROSECOND:
        return 1_000_000;
      default:
        return NANOS;
    }
  }

  public static long since1970(Date instant, TimeUnit unit) throws MismatchException {
    long millis = instant.getTime();
    long seconds = Math.floorDiv(millis, 1000L);
    long nanos =
        instant instanceof Timestamp
            ? ((Timestamp) instant).getNanos()
            : Math.floorMod(millis, 1000L) * 1_000_000;
    long perSecond = perSecond(unit);
    long rest = nanos / (NANOS / perSecond);
    if (seconds < 0) {
      // Computed towards zero, so that the earliest instant does not overflow in between.
      seconds++;
      rest -= perSecond;
    }
    try {
      return Math.addExact(Math.multiplyExact(seconds, perSecond), rest);
    } catch (ArithmeticException overflow) {
      throw new MismatchException(
          "is " + instant.toInstant() + ", which 64 bits do not hold in the unit " + unit);
    }
  }

  public static Date instant(long since1970, TimeUnit unit) throws MismatchException {
    long perSecond = perSecond(unit);
    long seconds = Math.floorDiv(since1970, perSecond);
    long millis = Math.floorMod(since1970, perSecond) * 1000 / perSecond;
    return new Date(millis(seconds) + millis);
  }

  public static Timestamp timestamp(long since1970, TimeUnit unit) throws MismatchException {
    long perSecond = perSecond(unit);
    Timestamp instant = new Timestamp(millis(Math.floorDiv(since1970, perSecond)));
    instant.setNanos((int) (Math.floorMod(since1970, perSecond) * (NANOS / perSecond)));
    return instant;
  }

  private static long millis(long seconds) throws MismatchException {
    try {
      return Math.multiplyExact(seconds, 1000L);
    } catch (ArithmeticException overflow) {
      throw new MismatchException("is " + seconds + " s, which no Java date holds");
    }
  }

  /** Days since 1970. */
  public static int day(Date date) {
    long millis = date.getTime();
    if (millis >= MILLIS_OF_1900) {
      return (int) Math.floorDiv(local(millis), DAY_MILLIS);
    }
    return (int) new java.sql.Date(millis).toLocalDate().toEpochDay();
  }

  /** A day as Java has it; its calendar leaves out the days of 5 to 14 October 1582. */
  public static java.sql.Date date(long daysSince1970) throws MismatchException {
    LocalDate day = LocalDate.ofEpochDay(daysSince1970);
    java.sql.Date date = java.sql.Date.valueOf(day);
    if (!date.toLocalDate().equals(day)) {
      throw new MismatchException(
          "is "
              + day
              + ", a day that Java's calendar does not have: in 1582 the 4th of October was"
              + " followed by the 15th (schema= with int32 or string loads it)");
    }
    return date;
  }

  /** Time since midnight, in a unit. */
  public static long ofDay(Time time, TimeUnit unit) {
    long millis = Math.floorMod(local(time.getTime()), DAY_MILLIS);
    return unit == TimeUnit.SECOND ? millis / 1000 : millis * (perSecond(unit) / 1000);
  }

  public static Time time(long sinceMidnight, TimeUnit unit) throws MismatchException {
    long nanos = sinceMidnight * (NANOS / perSecond(unit));
    if (nanos % 1_000_000 != 0) {
      throw new MismatchException(
          "is finer than milliseconds, which Java's Time does not hold (schema= with int64 or"
              + " string loads it whole)");
    }
    LocalDateTime first = LocalDate.ofEpochDay(0).atTime(LocalTime.ofNanoOfDay(nanos));
    return new Time(first.atZone(ZoneId.systemDefault()).toInstant().toEpochMilli());
  }

  private static long local(long millis) {
    return millis + TimeZone.getDefault().getOffset(millis);
  }
}
