package io.tensorflowignite.data.sql;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.Refusals;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import org.junit.Test;

/**
 * The functions that SQL may call, and the size that their results may have.
 *
 * <p>Promise (sql): A node computes no value of unbounded size.
 */
public class SqlSizesTest {
  private static final SqlTable TABLE =
      new SqlTable(
          "people",
          "PUBLIC",
          "PERSON",
          Map.ofEntries(
              Map.entry("NAME", "java.lang.String"),
              Map.entry("RAW", "[B"),
              Map.entry("AGE", "java.lang.Integer"),
              Map.entry("PRICE", "java.math.BigDecimal"),
              Map.entry("BORN", "java.sql.Date"),
              Map.entry("_KEY", "java.lang.Long"),
              Map.entry("_VAL", "Person")),
          SqlTable.Affinity.UNKNOWN,
          false);

  @Test
  public void usefulConditionsAreAllowed() {
    for (String text :
        new String[] {
          "age BETWEEN 1 AND 9 AND name LIKE 'a%' OR NOT price > 1.5 AND raw = X'00ff'",
          "UPPER(name) = 'X' AND LENGTH(TRIM(name)) > 3 AND SUBSTRING(name, 1, 2) IN ('ab', 'cd')",
          "LOWER(CONCAT(name, ' ', name)) LIKE '%a%b%' AND name || '!' <> '?'",
          "CONCAT_WS(', ', name, age, born, price) = 'x' OR RAWTOHEX(raw) = INSERT(name, 1, 2, ?)",
          "REPLACE(name, 'abc', ?) = REPLACE(name, '-') AND name REGEXP '^[a-z]+-[0-9]{2,3}$'",
          "REGEXP_LIKE(name, '^a.*b|[^a-z\\d]{2,}\\.$', 'i') AND name || CHAR(10) = ?",
          "ROUND(price * 1.19 / 2, 2) > 10 AND MOD(age, 3) = ABS(-1) AND POWER(age, 2) < 1E9",
          "COALESCE(price, 0) > 1 AND CASE WHEN age > 1 THEN 'a' ELSE name END = 'a'",
          "CASE age WHEN 1 THEN price ELSE 2.5 END > 1 AND NULLIF(name, '') IS NOT NULL",
          "CAST(name AS INT) > 1 AND CAST(age AS DECIMAL(10, 2)) = 1.00 AND CAST(? AS DATE) > born",
          "CAST(CONCAT(name, '1') AS BIGINT) = 11 AND CAST(age AS VARCHAR(9)) = '1'",
          "EXTRACT(YEAR FROM born) = 2020 AND DATEADD('DAY', 1, born) > DATE '2020-01-01'",
          "FORMATDATETIME(born, 'yyyy-MM-dd') = '2020-01-01' AND DAYNAME(born) = 'Monday'",
          "MOD(ORA_HASH(_key), 10) < 8 AND HASH('SHA256', STRINGTOUTF8(name), 1) = raw",
          "(age, name || 'a') IN ((1, ?), (3, 'x')) AND (age, name || 'a') = (1, ?) AND age IN (1)",
          "TRIM(LEADING '0' FROM CAST(price AS VARCHAR)) = ? AND -age = -1 AND ? || 'b' = 'ab'",
          "name = '1E999999999' AND name > ? AND age = '5' AND name = 5",
          "age IN (" + String.join(", ", Collections.nCopies(480, "1")) + ")",
          "a = 1 AND " + String.join(" OR ", Collections.nCopies(120, "UPPER(name) = 'X'")),
          "f + " + String.join(" * ", Collections.nCopies(200, "age")) + " > 1",
        }) {
      SelectRules.condition(TABLE, text, text.contains("abc") ? "de" : "2020-01-01", "1E999999999");
    }
  }

  @Test
  public void theSizeOfAResultIsBoundedBeforeAnythingIsComputed() {
    assertEachRefused(
        "times the size of a row",
        "RAWTOHEX(RAWTOHEX(RAWTOHEX(name))) = 'a'",
        "UPPER(UPPER(UPPER(UPPER(name)))) = 'A'",
        "CONCAT(" + String.join(", ", Collections.nCopies(33, "name")) + ") = 'a'",
        String.join(" || ", Collections.nCopies(40, "name")) + " = 'a'",
        "STRINGTOUTF8('" + "a".repeat(8000) + "') = raw",
        "CONCAT_WS('" + "a".repeat(100) + "', " + "name, ".repeat(200) + "name) = 'a'",
        String.join(" OR ", Collections.nCopies(5, "UPPER('" + "a".repeat(1500) + "') = name")),
        String.join(" * ", Collections.nCopies(40, "price")) + " > 1");
    assertEachRefused(
        "a text must not grow with what it contains",
        "REPLACE(name, 'a', 'bb') = 'a'",
        "REPLACE(name, '', 'b') = 'a'",
        "REPLACE(name, 'aa', 1) = 'a'");
    assertRefused("REPLACE(name, 'a', name) = 'a'", "argument 3 is neither a literal");
    assertRefused("CONCAT_WS(name, 'a', 'b') = 'a'", "argument 1 is neither a literal");
    assertRefused("CONCAT_WS('" + "a".repeat(101) + "', name, name) = ''", "101 characters");
    assertRefused("HASH('SHA256', raw, 2000000000) = raw", "it hashes 2000000000 times");
    assertRefused("FORMATDATETIME(born, '" + "y".repeat(101) + "') = ''", "101 characters");
    for (String format : new String[] {"RN", "FMRN", "fmrn"}) {
      assertRefused("TO_CHAR(age, '" + format + "') = 'X'", "its format has RN");
    }
    assertRefused("TO_CHAR(2147483647, ?) = name", "its format has RN", "FMRN");
  }

  @Test
  public void functionsWhoseResultHasAnySizeAreRefused() {
    assertEachRefused(
        "compute it from the rows that you have read (Dataset.map)",
        "LENGTH(SPACE(2000000000)) > 0",
        "\"SPACE\"(3) = name",
        "REPEAT('ab', 2) = name",
        "LPAD(name, 9) = 'a'",
        "RPAD(name, 9, 'ab') = 'a'",
        "REGEXP_REPLACE(name, 'a', 'b') = 'a'",
        "STRINGENCODE(name) = 'a'");
  }

  @Test
  public void aNumberHasAFewDigits() {
    assertEachRefused(
        "the number", "price > 1E999999999", "1e-999999999 + 1 > 0", "price = " + "9".repeat(1001));
    assertEachRefused(
        "a text stands beside a number",
        "price > '1E999999999'",
        "price IN (1, CONCAT('1E', '999999999'))",
        "CONCAT('1E', '999999999') = price",
        "price IN (1, CONCAT('1E', '999999999')) AND age = 1 OR age = 2",
        "(age, price) = (1, name || '')",
        "(price, age) IN ((1, 2), (name || '', 3))",
        "price BETWEEN 0 AND name || '1E9'",
        "price = X'1e999999999f'",
        "COALESCE(name, 1.0) > 1",
        "CASE WHEN age > 1 THEN name ELSE 1.0 END > 1");
    assertRefused("'1E999999999' + 1 > 1", "it calculates with a text");
    assertRefused("? * 2 > 1", "it calculates with a text", "1E999999999");
    assertRefused("-name > 1", "it calculates with a text");
    assertRefused("CAST(name AS DECIMAL) > 1", "it makes a decimal of a text");
    assertRefused("CAST(1 AS DECIMAL(100000000, 100000000)) > 1", "precision or scale up to 1000");
    assertRefused("CAST(name AS CHAR(2000000000)) = 'a'", "scale up to 1000");
    assertRefused("CAST(name AS OTHER) = 'a'", "OTHER is not one of the types");
    assertRefused("CAST(name AS CLOB) = 'a'", "CLOB is not one of the types");
    assertRefused("price > ?", "a text stands beside a number", "1E999999999");
    SelectRules.condition(TABLE, "price > ? AND ? + 1 > 2", "1E99", "1.5");
  }

  @Test
  public void noValueIsReadAsASerializedObject() {
    assertEachRefused(
        "it uses an object",
        "_val = X'1e999999'",
        "_val IN (1, 2)",
        "1 IN (2, _val)",
        "COALESCE(_val, 30) = 1",
        "CASE WHEN age > 1 THEN _val ELSE 30 END = 1",
        "_val IS DISTINCT FROM '1e99'",
        "_val || 'a' = 'a'",
        "NOT _val",
        "_val AND age > 1",
        "CAST(_val AS INT) = 1");
    SelectRules.condition(TABLE, "_val IS NOT NULL AND _key > 1");
    SelectRules.statement(TABLE, "SELECT _val AS v FROM PERSON");
  }

  @Test
  public void aPatternTakesALimitedNumberOfSteps() {
    assertRefused("name LIKE '%a%a%a%a'", "has 4 (% before other characters)");
    assertRefused("name LIKE name", "argument 2 is neither a literal");
    assertRefused("name LIKE ?", "has 5 (", "%a%a%a%a%a");
    assertRefused("name || name LIKE '%a%a%ab'", "its pattern has 3 (% before");
    assertRefused("'" + "a".repeat(2000) + "' LIKE '%a%a%ab'", "its pattern has 3 (% before");
    assertRefused("? LIKE '%a%ab'", "with a text of 100,000 characters", "a".repeat(100_000));
    assertRefused("name REGEXP '(x+x+)+y'", "its pattern cannot have (x+x+)+y");
    assertRefused("name REGEXP ?", "at most 1,000 characters", "a".repeat(1001));
    assertRefused("name REGEXP 'a*b*c*d'", "its pattern has 4 (repetitions, or a missing ^)");
    assertRefused("name REGEXP '^a?a?a?a?aaaa'", "its pattern has 4 (repetitions");
    assertRefused("name REGEXP 'a{2}{3}'", "its pattern cannot have a{2}{3}");
    assertRefused("name REGEXP 'a{9999999}'", "its pattern cannot have a{9999999}");
    assertRefused("REGEXP_LIKE(name, '[a[b]]')", "its pattern cannot have [a[b]]");
    assertRefused("REGEXP_LIKE(name, '\\1')", "its pattern cannot have \\1");
    assertRefused("REGEXP_LIKE(name, '[a]++b')", "its pattern cannot have [a]++b");
    assertRefused("REGEXP_LIKE(name, '\\Qa')", "its pattern cannot have");
    assertRefused("name RLIKE 'a'", "is refused");
    assertRefused("name SIMILAR TO 'a'", "is refused");
    SelectRules.condition(
        TABLE, "name LIKE '%a%a%a%' AND name LIKE '\\%a\\%a%a%' AND name LIKE NULL");
  }

  @Test
  public void otherFunctionsAreRefusedWithTheListOfThoseThatAreAllowed() {
    for (String name :
        new String[] {
          "STRINGENCODE", "XMLTEXT", "COMPRESS", "EXPAND", "ENCRYPT", "ARRAY_GET", "nope", "SLEEP"
        }) {
      assertRefused(name + "(name) = 'a'", "are allowed: ABS, ACOS,");
    }
    assertRefused("PUBLIC.UPPER(name) = 'a'", " is not allowed");
  }

  @Test
  public void textThatIgniteMayReadInAnotherWayIsRefused() {
    for (String text :
        new String[] {
          "'a\\' || SPACE(2000000000) || ' = '", "`a` = 1", "a#b = 1", "$$a$$ = name"
        }) {
      assertThrows(TensorFlowIgniteException.class, () -> SelectRules.condition(TABLE, text));
    }
  }

  @Test
  public void deepTreesAreRefusedAtOnce() {
    assertRefused("NOT ".repeat(3_000) + "a = 1", "words, numbers and signs");
    assertRefused("- ".repeat(3_000) + "a = 1", "words, numbers and signs");
    assertRefused("a = 1" + " XOR a = 1".repeat(200), "is refused");
    SelectRules.condition(TABLE, "a = 1" + " AND a = 1".repeat(200));
  }

  @Test
  public void theDocumentationHasEveryAllowedFunction() throws Exception {
    String page = Files.readString(Path.of("docs/data.md"));
    for (String name : SqlFunctions.names()) {
      assertTrue(name, page.matches("(?s).*\\b" + name + "\\b.*"));
    }
    for (String name : new String[] {"SPACE", "LPAD", "RPAD", "REPEAT", "REGEXP_REPLACE"}) {
      assertTrue(name, !SqlFunctions.names().contains(name));
    }
  }

  private static void assertEachRefused(String part, String... texts) {
    for (String text : texts) {
      assertRefused(text, part);
    }
  }

  private static void assertRefused(String text, String part, Object... parameters) {
    Refusals.assertRefused(
        ERROR_CODE_SQL_INVALID, () -> SelectRules.condition(TABLE, text, parameters), part);
  }
}
