package io.tensorflowignite.data.sql;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;

/** Errors of SQL that a user wrote. */
public final class SqlInvalid {
  private static final int SHOWN = 300;

  private SqlInvalid() {}

  /**
   * @param what what the text is, and what is wrong with it
   * @param rule the rule that it breaks, and what to do
   */
  public static TensorFlowIgniteException of(String what, String rule) {
    return of(what, rule, null);
  }

  public static TensorFlowIgniteException of(String what, String rule, Throwable cause) {
    return new TensorFlowIgniteException(ErrorCode.SQL_INVALID, what + "; " + rule, cause);
  }

  public static TensorFlowIgniteException twice(String what, String name) {
    return of(
        what + " has two columns " + name,
        "the columns of a dataset are known by their names; name each differently (AS name)");
  }

  /** A text as errors show it: on one line, cut where it gets long. */
  public static String shown(Object text) {
    String line = String.valueOf(text).replaceAll("\\s+", " ").trim();
    return line.length() <= SHOWN ? line : line.substring(0, SHOWN) + "...";
  }
}
