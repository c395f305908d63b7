package io.tensorflowignite.data.sql;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Map;
import java.util.Optional;
import org.junit.Test;

/** The parts of SQL whose results depend on the time zone of a node. */
public class ZoneRulesTest {
  private static final SqlTable TABLE =
      new SqlTable(
          "events",
          "events",
          "EVENT",
          Map.of("T", "java.sql.Timestamp", "U", "java.util.Date", "NAME", "java.lang.String"),
          SqlTable.Affinity.UNKNOWN,
          false);
  private static final String ZONED = "2020-07-02 12:00:00+00:00";
  private static final String NAIVE = "2020-07-02 12:00:00";

  @Test
  public void instantsAreComparedWithEachOtherAndWithParametersThatHaveAZone() {
    for (String where :
        new String[] {
          "t > ?",
          "? <= t",
          "t BETWEEN ? AND '" + ZONED + "'",
          "t IN (?, '2020-07-02 12:00:00.123456+02:00')",
          "t = u AND u < ?",
          "t IS NULL AND name = ?",
          "name > '" + NAIVE + "' AND t > ?"
        }) {
      assertEquals(where, Optional.empty(), SelectRules.condition(TABLE, where, ZONED).zoned);
    }
    assertEquals(
        Optional.empty(),
        SelectRules.statement(TABLE, "SELECT t, name FROM Event WHERE t > ?", ZONED).zoned);
  }

  @Test
  public void instantsBesideDaysAndTimesOfDayDependOnTheZone() {
    for (String where :
        new String[] {
          "t > ?",
          "t > '" + NAIVE + "'",
          "t > TIMESTAMP '" + NAIVE + "'",
          "u = ? OR name = 'a'",
          "t BETWEEN '" + ZONED + "' AND ?",
          "t IN ('" + ZONED + "', ?)",
          "HOUR(t) = 3 AND name = ?",
          "CAST(t AS DATE) = ?",
          "CAST(name AS TIMESTAMP) = ?",
          "EXTRACT(HOUR FROM t) = 3 AND name = ?",
          "FORMATDATETIME(t, 'yyyy') = ?",
          "t LIKE ?"
        }) {
      assertTrue(where, SelectRules.condition(TABLE, where, NAIVE).zoned.isPresent());
    }
    assertEquals(
        Optional.of("HOUR(t)"),
        SelectRules.statement(TABLE, "SELECT HOUR(t) AS h FROM Event").zoned);
  }
}
