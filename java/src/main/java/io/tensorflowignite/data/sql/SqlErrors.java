package io.tensorflowignite.data.sql;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.cache.CacheException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;

/** Errors about SQL that a user wrote; Ignite's own ones are translated. */
final class SqlErrors {
  /** An error of the SQL engine on another node arrives as a text, which ends with its number. */
  private static final Pattern FROM_ANOTHER_NODE =
      Pattern.compile("errMsg=(.*?); SQL statement:.*\\[\\w{5}-\\d+\\]", Pattern.DOTALL);

  private static final int SHOWN = 300;

  private SqlErrors() {}

  /**
   * @param problem the text and its error
   * @param rule the rule, and the user's remedy
   */
  static TensorFlowIgniteException invalid(String problem, String rule) {
    return invalid(problem, rule, null);
  }

  static TensorFlowIgniteException invalid(String problem, String rule, Throwable cause) {
    return new TensorFlowIgniteException(ERROR_CODE_SQL_INVALID, problem + "; " + rule, cause);
  }

  static TensorFlowIgniteException twice(String text, String name) {
    return invalid(
        text + " has two columns " + name,
        "each column of a dataset has its own name; give one of them another (AS name)");
  }

  /** A text for an error message: on one line, cut after {@value #SHOWN} characters. */
  static String shown(Object text) {
    String line = String.valueOf(text).replaceAll("\\s+", " ").trim();
    return line.length() <= SHOWN ? line : line.substring(0, SHOWN) + "...";
  }

  static <T> T translating(String text, Supplier<T> query) {
    try {
      return query.get();
    } catch (CacheException | IgniteException failure) {
      throw translate(text, failure);
    }
  }

  static RuntimeException translate(String text, RuntimeException failure) {
    if (!(failure instanceof CacheException || failure instanceof IgniteException)
        || failure instanceof IgniteInterruptedException) {
      return failure;
    }
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      Optional<String> reason = reason(cause);
      if (reason.isPresent()) {
        return invalid(
            text + " cannot be run: " + shown(reason.get()),
            "Ignite must accept the SQL; change it or its parameters as Ignite's message says",
            failure);
      }
    }
    return failure;
  }

  /** The SQL engine's message, without the statement, which is not the user's text. */
  private static Optional<String> reason(Throwable cause) {
    String message = String.valueOf(cause.getMessage());
    if (cause instanceof SQLException) {
      return Optional.of(message.split("; SQL statement:")[0]);
    }
    Matcher remote = FROM_ANOTHER_NODE.matcher(message);
    return remote.find() ? Optional.of(remote.group(1)) : Optional.empty();
  }
}
