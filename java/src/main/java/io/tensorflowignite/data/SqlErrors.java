package io.tensorflowignite.data;

import io.tensorflowignite.data.sql.SqlInvalid;
import java.sql.SQLException;
import java.util.function.Supplier;
import javax.cache.CacheException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;

/** Which of Ignite's failures are the fault of the SQL that a user wrote. */
final class SqlErrors {
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
      if (cause instanceof SQLException) {
        return SqlInvalid.of(
            what + " cannot be run: " + reason(cause),
            "that is what Ignite says; correct the text or its parameters",
            failure);
      }
    }
    return failure;
  }

  /** Without the statement, which is not the user's own text, and H2's numbers. */
  private static String reason(Throwable cause) {
    return SqlInvalid.shown(String.valueOf(cause.getMessage()).split("; SQL statement:")[0]);
  }
}
