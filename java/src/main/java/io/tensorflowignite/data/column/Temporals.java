package io.tensorflowignite.data.column;

import java.sql.Time;
import java.sql.Timestamp;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.Calendar;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.Locale;
import java.util.TimeZone;
import org.apache.arrow.vector.types.TimeUnit;

/**
 * Converts Ignite's dates and times to Arrow's numbers and back. java.util.Date and Timestamp are
 * instants; java.sql's Date and Time are the day and the time of day in this JVM's time zone, as in
 * SQL. Before 15 October 1582 java.sql's classes, and so SQL, use the Julian calendar, and Arrow
 * the Gregorian calendar: the conversion keeps year, month and day of the month.
 */
public final class Temporals {
  private static final long SECONDS_OF_DAY = 86_400;
  private static final long DAY_MILLIS = 86_400_000;
  private static final long NANOS = 1_000_000_000;

  /** From this instant on, the time zone's offset gives the same day as Java's calendars. */
  private static final long MILLIS_OF_1900 = -2_208_988_800_000L;

  /** The start of 15 October 1582, from which on Java's calendar is the Gregorian one. */
  private static final long MILLIS_OF_GREGORIAN = -12_219_292_800_000L;

  private static final TimeZone UTC = TimeZone.getTimeZone("UTC");

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
    long millis = instant instanceof Timestamp ? toGregorian(instant.getTime()) : instant.getTime();
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

  /** As {@link #since1970}, without loss. */
  public static long exactly(Date instant, TimeUnit unit) throws MismatchException {
    long nanos =
        instant instanceof Timestamp
            ? ((Timestamp) instant).getNanos()
            : Math.floorMod(instant.getTime(), 1000L) * 1_000_000;
    if (nanos % (NANOS / perSecond(unit)) != 0) {
      throw finer(instant.toInstant(), unit);
    }
    return since1970(instant, unit);
  }

  private static MismatchException finer(Object value, TimeUnit unit) {
    return new MismatchException(
        "is "
            + value
            + ", which is finer than the column's unit "
            + unit
            + " (schema= with a finer unit reads it)");
  }

  public static Date instant(long since1970, TimeUnit unit) throws MismatchException {
    long perSecond = perSecond(unit);
    long seconds = Math.floorDiv(since1970, perSecond);
    long millis = Math.floorMod(since1970, perSecond) * 1000 / perSecond;
    return new Date(millis(seconds) + millis);
  }

  public static Timestamp timestamp(long since1970, TimeUnit unit) throws MismatchException {
    long perSecond = perSecond(unit);
    Timestamp instant = new Timestamp(fromGregorian(millis(Math.floorDiv(since1970, perSecond))));
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

  /** The instant with the same year, month, day and time in UTC in the Gregorian calendar. */
  private static long toGregorian(long millis) throws MismatchException {
    if (millis >= MILLIS_OF_GREGORIAN) {
      return millis;
    }
    GregorianCalendar julian = new GregorianCalendar(UTC, Locale.ROOT);
    julian.setTimeInMillis(millis);
    int year = julian.get(Calendar.YEAR);
    int month = julian.get(Calendar.MONTH) + 1;
    int day = julian.get(Calendar.DAY_OF_MONTH);
    int signed = julian.get(Calendar.ERA) == GregorianCalendar.AD ? year : 1 - year;
    try {
      long days = LocalDate.of(signed, month, day).toEpochDay();
      return Math.addExact(Math.multiplyExact(days, DAY_MILLIS), Math.floorMod(millis, DAY_MILLIS));
    } catch (DateTimeException missing) {
      throw notGregorian(String.format("%04d-%02d-%02d", signed, month, day));
    } catch (ArithmeticException overflow) {
      throw new MismatchException("is " + millis + " ms, which 64 bits do not hold as a day");
    }
  }

  /** The reverse. */
  private static long fromGregorian(long millis) throws MismatchException {
    if (millis >= MILLIS_OF_GREGORIAN) {
      return millis;
    }
    LocalDate day = LocalDate.ofEpochDay(Math.floorDiv(millis, DAY_MILLIS));
    int year = day.getYear();
    GregorianCalendar julian = new GregorianCalendar(UTC, Locale.ROOT);
    julian.clear();
    julian.set(Calendar.ERA, year > 0 ? GregorianCalendar.AD : GregorianCalendar.BC);
    julian.set(year > 0 ? year : 1 - year, day.getMonthValue() - 1, day.getDayOfMonth());
    long instant = julian.getTimeInMillis() + Math.floorMod(millis, DAY_MILLIS);
    if (instant >= MILLIS_OF_GREGORIAN) {
      throw notJulian(day);
    }
    return instant;
  }

  private static MismatchException notGregorian(String day) {
    return new MismatchException(
        "is "
            + day
            + ", a day that only the Julian calendar has; Arrow has the days of the Gregorian"
            + " calendar");
  }

  private static MismatchException notJulian(LocalDate day) {
    String reason =
        day.getYear() < 1
            ? "a day before the year 1, which java.sql.Date does not have"
            : "a day that Java's calendar does not have: in 1582 the 4th of October was followed"
                + " by the 15th";
    return new MismatchException(
        "is " + day + ", " + reason + " (schema= with int32 or string loads it)");
  }

  /** Days since 1970. */
  public static int day(Date date) throws MismatchException {
    long millis = date.getTime();
    if (millis >= MILLIS_OF_1900) {
      return (int) Math.floorDiv(local(millis), DAY_MILLIS);
    }
    java.sql.Date day = new java.sql.Date(millis);
    try {
      return (int) day.toLocalDate().toEpochDay();
    } catch (DateTimeException missing) {
      throw notGregorian(day.toString());
    }
  }

  /** A day as Java has it; its calendar leaves out the days of 5 to 14 October 1582. */
  public static java.sql.Date date(long daysSince1970) throws MismatchException {
    LocalDate day = LocalDate.ofEpochDay(daysSince1970);
    java.sql.Date date = java.sql.Date.valueOf(day);
    if (!date.toLocalDate().equals(day)) {
      throw notJulian(day);
    }
    return date;
  }

  /** As {@link #ofDay}, without loss. */
  public static long ofDayExactly(Time time, TimeUnit unit) throws MismatchException {
    if (unit == TimeUnit.SECOND && Math.floorMod(time.getTime(), 1000L) != 0) {
      throw finer(String.format("%s.%03d", time, Math.floorMod(time.getTime(), 1000L)), unit);
    }
    return ofDay(time, unit);
  }

  /** Time since midnight, in a unit. */
  public static long ofDay(Time time, TimeUnit unit) {
    long millis = Math.floorMod(local(time.getTime()), DAY_MILLIS);
    return unit == TimeUnit.SECOND ? millis / 1000 : millis * (perSecond(unit) / 1000);
  }

  public static Time time(long sinceMidnight, TimeUnit unit) throws MismatchException {
    if (sinceMidnight < 0 || sinceMidnight >= SECONDS_OF_DAY * perSecond(unit)) {
      throw new MismatchException(
          "is "
              + sinceMidnight
              + " in the unit "
              + unit
              + ", which is no time of a day: 0:00 to 24:00, exclusive (schema= with int64 loads"
              + " it)");
    }
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
