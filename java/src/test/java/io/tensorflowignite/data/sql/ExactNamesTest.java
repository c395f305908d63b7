package io.tensorflowignite.data.sql;

import static org.junit.Assert.assertEquals;

import java.util.Map;
import org.junit.Test;

public class ExactNamesTest {
  private static final Map<String, String> COLUMNS =
      Map.of("DAY", "java.sql.Date", "ORDER", "java.lang.Integer", "STRASSE", "java.lang.String");

  @Test
  public void aNameInQuotesIsThatOfTheCacheAndIsWrittenAsSqlHasIt() {
    assertEquals(
        " FROM \"c\".\"T\" WHERE \"DAY\" >= ? AND \"ORDER\" = 1 AND day < ?",
        where(false, "\"day\" >= ? AND \"order\" = 1 AND day < ?", 1, 2));
    assertEquals(" FROM \"c\".\"T\" WHERE \"DAY\" = 1", where(false, "\"DAY\" = 1"));
  }

  @Test
  public void aNameWhoseCapitalsAreMoreLettersIsWrittenAsSqlHasIt() {
    assertEquals(" FROM \"c\".\"T\" WHERE \"STRASSE\" = ?", where(false, "Straße = ?", "a"));
    RowSelect select = SelectRules.statement(table(false), "SELECT Straße FROM t");
    assertEquals("SELECT \"STRASSE\", _KEY FROM \"c\".\"T\" AS \"T\"", select.rows());
    assertEquals("Straße", select.columns().get(0).name);
  }

  @Test
  public void aNameThatNoColumnHasStaysSoThatTheErrorNamesIt() {
    assertEquals(" FROM \"c\".\"T\" WHERE \"other\" = 1", where(false, "\"other\" = 1"));
  }

  @Test
  public void sqlThatHasNamesAsTheyAreGetsThemSo() {
    assertEquals(" FROM \"c\".\"T\" WHERE \"day\" = 1", where(true, "\"day\" = 1"));
  }

  @Test
  public void aSelectedColumnIsCalledAsTheCallerCallsIt() {
    RowSelect select = SelectRules.statement(table(false), "SELECT \"day\", \"order\" FROM t");
    assertEquals("SELECT \"DAY\", \"ORDER\", _KEY FROM \"c\".\"T\" AS \"T\"", select.rows());
    assertEquals("day", select.columns().get(0).name);
    assertEquals("ORDER", select.columns().get(1).source);
  }

  private static String where(boolean isEscaped, String condition, Object... parameters) {
    String count = SelectRules.condition(table(isEscaped), condition, parameters).count();
    return count.substring("SELECT COUNT(*)".length());
  }

  private static SqlTable table(boolean isEscaped) {
    return new SqlTable("c", "c", "T", COLUMNS, SqlTable.Affinity.UNKNOWN, isEscaped);
  }
}
