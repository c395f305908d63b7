package io.tensorflowignite.data.sql;

import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.cache.CacheException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;

/** Which of Ignite's failures are the fault of the SQL that a user wrote. */
final class SqlErrors {
  /** The engine's errors come from other nodes as texts only, which end in its number. */
  private static final Pattern FROM_ANOTHER_NODE =
      Pattern.compile("errMsg=(.*?); SQL statement:.*\\[\\w{5}-\\d+\\]", Pattern.DOTALL);

  private SqlErrors() {}

  static <T> T translating(String what, Supplier<T> query) {
    try {
      return query.get();
    } catch (CacheException | IgniteException failure) {
      throw translate(what, failure);
    }
  }

  static RuntimeException translate(String what, RuntimeException failure) {
    if (!(failure instanceof CacheException || failure instanceof IgniteException)
        || failure instanceof IgniteInterruptedException) {
      return failure;
    }
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      Optional<String> reason = reason(cause);
      if (reason.isPresent()) {
        return SqlInvalid.of(
            what + " cannot be run: " + SqlInvalid.shown(reason.get()),
            "that is what Ignite says; correct the text or its parameters",
            failure);
      }
    }
    return failure;
  }

  /** What the SQL engine says, without the statement, which is not the user's own text. */
  private static Optional<String> reason(Throwable cause) {
    String message = String.valueOf(cause.getMessage());
    if (cause instanceof SQLException) {
      return Optional.of(message.split("; SQL statement:")[0]);
    }
    Matcher remote = FROM_ANOTHER_NODE.matcher(message);
    return remote.find() ? Optional.of(remote.group(1)) : Optional.empty();
  }
}
