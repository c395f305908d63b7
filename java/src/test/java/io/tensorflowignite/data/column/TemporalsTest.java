package io.tensorflowignite.data.column;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.sql.Time;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Calendar;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.Locale;
import java.util.TimeZone;
import org.apache.arrow.vector.types.TimeUnit;
import org.junit.Test;

/** Days before October 1582, where Java's calendar is the Julian one. */
public class TemporalsTest {
  @Test
  public void aTimestampBefore1582KeepsTheDayThatSqlShows() throws MismatchException {
    for (int year : new int[] {-44, 1, 1200, 1500, 1582}) {
      long arrow = LocalDateTime.of(year, 3, 10, 12, 30).toInstant(ZoneOffset.UTC).getEpochSecond();

      assertEquals(julian(year, 3, 10), Temporals.timestamp(arrow, TimeUnit.SECOND));
      assertEquals(arrow, Temporals.since1970(julian(year, 3, 10), TimeUnit.SECOND));
    }
  }

  @Test
  public void daysThatOneOfTheCalendarsDoesNotHaveAreAMismatch() {
    long skipped = LocalDateTime.of(1582, 10, 7, 0, 0).toEpochSecond(ZoneOffset.UTC);

    assertNoDay("1500-02-29", () -> Temporals.since1970(julian(1500, 2, 29), TimeUnit.SECOND));
    assertNoDay("1582-10-07", () -> Temporals.timestamp(skipped, TimeUnit.SECOND));
    long before = LocalDate.of(-4, 3, 1).toEpochDay();
    assertNoDay("-0004-03-01", () -> Temporals.date(before));
    assertNoDay(
        "1500-02-29", () -> Temporals.day(new java.sql.Date(local(1500, 2, 29).getTimeInMillis())));
  }

  @Test
  public void aTimeOutsideOfItsDayAndOneThatIsFinerThanItsColumnAreAMismatch() throws Exception {
    for (long seconds : new long[] {-1, 86_400, Long.MAX_VALUE}) {
      assertMismatch("no time of a day", () -> Temporals.time(seconds, TimeUnit.SECOND));
    }
    assertEquals(Time.valueOf("23:59:59"), Temporals.time(86_399, TimeUnit.SECOND));
    Time time = new Time(Time.valueOf("10:00:01").getTime() + 5);
    assertMismatch(
        "10:00:01.005, which is finer", () -> Temporals.ofDayExactly(time, TimeUnit.SECOND));
    Timestamp instant = new Timestamp(1_500);
    instant.setNanos(500_000_001);
    assertMismatch("which is finer", () -> Temporals.exactly(new Date(-1), TimeUnit.SECOND));
    assertMismatch("which is finer", () -> Temporals.exactly(instant, TimeUnit.MICROSECOND));
    assertEquals(1_500_000_001, Temporals.exactly(instant, TimeUnit.NANOSECOND));
    assertEquals(-1, Temporals.exactly(new Date(-1000), TimeUnit.SECOND));
  }

  private static Timestamp julian(int year, int month, int day) {
    GregorianCalendar calendar = new GregorianCalendar(TimeZone.getTimeZone("UTC"), Locale.ROOT);
    return new Timestamp(set(calendar, year, month, day).getTimeInMillis());
  }

  private static GregorianCalendar local(int year, int month, int day) {
    return set(new GregorianCalendar(), year, month, day);
  }

  private static GregorianCalendar set(GregorianCalendar calendar, int year, int month, int day) {
    calendar.clear();
    calendar.set(Calendar.ERA, year > 0 ? GregorianCalendar.AD : GregorianCalendar.BC);
    calendar.set(year > 0 ? year : 1 - year, month - 1, day, 12, 30);
    return calendar;
  }

  private interface Conversion {
    Object run() throws MismatchException;
  }

  private static void assertNoDay(String day, Conversion conversion) {
    assertMismatch("is " + day + ", a day ", conversion);
  }

  private static void assertMismatch(String text, Conversion conversion) {
    MismatchException error = assertThrows(MismatchException.class, conversion::run);
    assertTrue(error.getMessage(), error.getMessage().contains(text));
  }
}
