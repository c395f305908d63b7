package io.tensorflowignite.data.sql;

import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.Function;

/**
 * Functions of Ignite's SQL that are refused since their result does not depend on one row alone.
 */
final class RefusedFunctions {
  private static final Set<String> AGGREGATES =
      names(
          "COUNT SUM MIN MAX AVG GROUP_CONCAT STRING_AGG LISTAGG STDDEV_SAMP STDDEV STDDEV_POP"
              + " STDDEVP VAR_POP VARP VAR_SAMP VAR VARIANCE BOOL_OR SOME ANY BOOL_AND EVERY"
              + " SELECTIVITY HISTOGRAM BIT_OR BIT_AND MEDIAN MODE ARRAY_AGG");
  private static final Set<String> UNSTABLE =
      names(
          "RAND RANDOM SECURE_RAND RANDOM_UUID SYS_GUID UUID CURRENT_DATE CURDATE TODAY GETDATE"
              + " CURRENT_TIME SYSTIME CURTIME CURRENT_TIMESTAMP SYSDATE SYSTIMESTAMP NOW LOCALTIME"
              + " LOCALTIMESTAMP ROWNUM ROW_NUMBER _ROWID_");
  private static final Set<String> OUTSIDE =
      names(
          "FILE_READ FILE_WRITE CSVREAD CSVWRITE LINK_SCHEMA TABLE TABLE_DISTINCT SYSTEM_RANGE"
              + " UNNEST VALUES SET SIGNAL NEXTVAL CURRVAL IDENTITY SCOPE_IDENTITY"
              + " IDENTITY_VAL_LOCAL LAST_INSERT_ID LASTVAL AUTOCOMMIT READONLY DATABASE"
              + " DATABASE_PATH DISK_SPACE_USED MEMORY_FREE MEMORY_USED LOCK_MODE LOCK_TIMEOUT"
              + " SCHEMA SESSION_ID CANCEL_SESSION TRANSACTION_ID USER CURRENT_USER H2VERSION");

  private static final Set<String> PREDICTIONS =
      names("TF_PREDICT TF_PREDICT_ARRAY TF_PREDICT_TEXT");

  /**
   * Functions that are called without parentheses; a column with one of these names must be quoted.
   */
  private static final Set<String> WORDS =
      names(
          "CURRENT_DATE TODAY CURRENT_TIME SYSTIME CURRENT_TIMESTAMP SYSDATE SYSTIMESTAMP LOCALTIME"
              + " LOCALTIMESTAMP ROWNUM _ROWID_");

  private RefusedFunctions() {}

  /** Why a word that looks like a column's name is refused; empty: the word is allowed. */
  static Optional<String> reasonOfWord(String word) {
    return WORDS.contains(word.toUpperCase(Locale.ROOT)) ? reason(word) : Optional.empty();
  }

  /** Why a function is refused; empty: the function is allowed. */
  static Optional<String> reason(String name) {
    String known = name.toUpperCase(Locale.ROOT);
    if (AGGREGATES.contains(known)) {
      return Optional.of(
          "the aggregate "
              + known
              + " needs all rows at once, but each partition is read separately; sql= computes"
              + " COUNT, SUM, AVG, MIN and MAX for each affinity key (GROUP BY), as columns and in"
              + " HAVING; or aggregate the rows that you have read");
    }
    if (UNSTABLE.contains(known)) {
      return Optional.of(
          known
              + " gives another result with each call, but counting and reading must find the same"
              + " rows; give the value as a parameter (?)");
    }
    if (OUTSIDE.contains(known)) {
      return Optional.of(
          known
              + " uses files, sessions or other tables, but a condition may use only its row;"
              + " remove the call");
    }
    if (PREDICTIONS.contains(known)) {
      return Optional.of(
          known
              + " would call a model again each time that a row is counted or read; predict the"
              + " rows into another cache (tensorflow-ignite predict), and join it with sql=, or"
              + " keep the column that you need (--keep)");
    }
    return Optional.empty();
  }

  /** Throws unless a function has arguments and nothing else, such as an order or DISTINCT. */
  static void requirePlain(String text, Function function) {
    if (function.isDistinct()
        || function.isUnique()
        || function.isAllColumns()
        || function.isEscaped()
        || function.getKeep() != null
        || function.getOrderByElements() != null
        || function.getHavingClause() != null
        || function.getNullHandling() != null
        || function.getLimit() != null
        || function.getAttribute() != null
        || function.getExtraKeyword() != null
        || function.getOnOverflowTruncate() != null) {
      throw SqlErrors.invalid(
          "in " + text + ": " + SqlErrors.shown(function) + " is refused",
          "arguments of a function are values of one row, separated by commas; remove everything"
              + " else");
    }
  }

  private static Set<String> names(String separatedBySpaces) {
    return Set.of(separatedBySpaces.split(" "));
  }
}
