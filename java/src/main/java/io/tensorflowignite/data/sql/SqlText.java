package io.tensorflowignite.data.sql;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;

import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.cache.CacheException;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.parser.CCJSqlParserTokenManager;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.parser.Token;
import net.sf.jsqlparser.parser.TokenMgrException;
import net.sf.jsqlparser.statement.Statement;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;

/**
 * A user's SQL text: its syntax tree, which is not checked yet, and errors about it. Ignite's own
 * errors are translated.
 */
final class SqlText {
  /** An error of the SQL engine on another node arrives as a text, which ends with its number. */
  private static final Pattern FROM_ANOTHER_NODE =
      Pattern.compile("errMsg=(.*?); SQL statement:.*\\[\\w{5}-\\d+\\]", Pattern.DOTALL);

  private static final int SHOWN = 300;

  private static final int MAX_CHARACTERS = 16 << 10;
  private static final int MAX_TOKENS = 1_000;
  private static final int MAX_DEPTH = 10;
  private static final int SECONDS = 10;
  private static final Set<String> OPENING = Set.of("(", "[", "{", "CASE");
  private static final Set<String> CLOSING = Set.of(")", "]", "}", "END");
  private static final String ONE_CONDITION =
      "where must be one condition over the cache's columns, such as label < ? AND name LIKE 'a%';"
          + " write it without the word WHERE and without clauses after it";
  private static final String ONE_SELECT =
      "sql must be one SELECT over the cache's table, such as SELECT label, pixels FROM Digit WHERE"
          + " label < ?; write one such SELECT, without a clause or statement after it";

  private static final ThreadFactory THREADS = IdleThreads.daemons("tensorflow-ignite-sql");

  private SqlText() {}

  static Expression condition(String where) {
    String text = shown("where", where);
    requireLength(text, where);
    Expression parsed;
    CompletableFuture<Void> late = new CompletableFuture<>();
    try {
      requireShallow(text, where, ONE_CONDITION);
      parsed =
          CCJSqlParserUtil.parseCondExpression(
              where,
              false,
              parser ->
                  late.completeOnTimeout(null, SECONDS, TimeUnit.SECONDS)
                      .thenRun(() -> parser.interrupted = true));
    } catch (JSQLParserException | TokenMgrException | StackOverflowError error) {
      throw unreadable(text, error, ONE_CONDITION);
    } finally {
      late.cancel(false);
    }
    if (parsed == null) {
      throw invalid(text + " cannot be read", ONE_CONDITION);
    }
    return parsed;
  }

  static Statement statement(String sql) {
    String text = shown("sql", sql);
    requireLength(text, sql);
    List<Statement> parsed;
    // The parser would not end its own executor after a text that it cannot parse.
    ExecutorService executor = Executors.newSingleThreadExecutor(THREADS);
    try {
      requireShallow(text, sql, ONE_SELECT);
      parsed =
          CCJSqlParserUtil.parseStatements(
              sql, executor, parser -> parser.withTimeOut(TimeUnit.SECONDS.toMillis(SECONDS)));
    } catch (JSQLParserException | TokenMgrException | StackOverflowError error) {
      throw unreadable(text, error, ONE_SELECT);
    } finally {
      executor.shutdownNow();
    }
    if (parsed == null || parsed.size() != 1) {
      int count = parsed == null ? 0 : parsed.size();
      throw invalid(text + " holds " + count + " statements", ONE_SELECT);
    }
    return parsed.get(0);
  }

  static String shown(String argument, String text) {
    return argument + " \"" + shown(text) + "\"";
  }

  private static void requireLength(String text, String sql) {
    if (sql.length() > MAX_CHARACTERS) {
      throw invalid(
          text + " has " + sql.length() + " characters",
          "SQL may have "
              + MAX_CHARACTERS
              + " characters; load long lists of values into a column, and filter by that column");
    }
  }

  /**
   * Limits the nesting, since the parser tries all alternatives, so that each level multiplies its
   * time. Limits the size of the syntax tree, since Ignite keeps the trees of the last thousand
   * statements and more.
   */
  private static void requireShallow(String text, String sql, String rule) {
    CCJSqlParserTokenManager tokens = CCJSqlParserUtil.newParser(sql).token_source;
    int depth = 0;
    int count = 0;
    for (Token token = tokens.getNextToken(); token.kind != 0; token = tokens.getNextToken()) {
      if (++count > MAX_TOKENS) {
        throw invalid(
            text + " has more than " + MAX_TOKENS + " words, numbers and signs",
            "SQL may have "
                + MAX_TOKENS
                + " of them; load long lists of values into a column, and filter by that column");
      }
      String word = token.image.toUpperCase(Locale.ROOT);
      depth += OPENING.contains(word) ? 1 : CLOSING.contains(word) && depth > 0 ? -1 : 0;
      if (depth > MAX_DEPTH) {
        throw invalid(
            text + " cannot be read: it is nested more than " + MAX_DEPTH + " levels deep",
            "parentheses and CASE may be "
                + MAX_DEPTH
                + " levels deep, and a AND b AND c needs none; "
                + rule);
      }
    }
  }

  private static TensorFlowIgniteException unreadable(String text, Throwable error, String rule) {
    String reason =
        error instanceof StackOverflowError
            ? "it is nested too deeply"
            : shown(
                String.valueOf(error.getMessage())
                    .replace("net.sf.jsqlparser.parser.ParseException: ", "")
                    .split("Was expecting")[0]);
    return invalid(text + " cannot be read: " + reason, rule, error);
  }

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
            reason.get().startsWith("Syntax error")
                ? "Ignite must accept the SQL; change it before the [*], and write a column whose"
                    + " name is a word of SQL in double quotes, such as \"order\""
                : "Ignite must accept the SQL; change it or its parameters as Ignite's message"
                    + " says",
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
