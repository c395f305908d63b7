package io.tensorflowignite.data.sql;

import io.tensorflowignite.TensorFlowIgniteException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.parser.CCJSqlParserTokenManager;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.parser.Token;
import net.sf.jsqlparser.parser.TokenMgrException;
import net.sf.jsqlparser.statement.Statement;

/** Texts to trees; the trees are not checked yet. */
final class SqlParsing {
  private static final int MAX_CHARACTERS = 64 << 10;
  private static final int MAX_DEPTH = 10;
  private static final int SECONDS = 10;
  private static final Set<String> OPENING = Set.of("(", "[", "{", "CASE");
  private static final Set<String> CLOSING = Set.of(")", "]", "}", "END");
  private static final String ONE_CONDITION =
      "where is one condition over the cache's columns, such as label < ? AND name LIKE 'a%'; write"
          + " it without the word WHERE and without clauses after it";
  private static final String ONE_SELECT =
      "sql is one SELECT over the cache's table, such as SELECT label, pixels FROM Digit WHERE"
          + " label < ?; correct it";

  private SqlParsing() {}

  static Expression condition(String where) {
    String what = what("where", where);
    requireLength(what, where);
    Expression parsed;
    CompletableFuture<Void> late = new CompletableFuture<>();
    try {
      requireShallow(what, where, ONE_CONDITION);
      parsed =
          CCJSqlParserUtil.parseCondExpression(
              where,
              false,
              parser ->
                  late.completeOnTimeout(null, SECONDS, TimeUnit.SECONDS)
                      .thenRun(() -> parser.interrupted = true));
    } catch (JSQLParserException | TokenMgrException | StackOverflowError error) {
      throw unreadable(what, error, ONE_CONDITION);
    } finally {
      late.cancel(false);
    }
    if (parsed == null) {
      throw SqlInvalid.of(what + " cannot be read", ONE_CONDITION);
    }
    return parsed;
  }

  static Statement statement(String sql) {
    String what = what("sql", sql);
    requireLength(what, sql);
    List<Statement> parsed;
    // The parser's own one is left behind by every text that cannot be read.
    ExecutorService executor = Executors.newSingleThreadExecutor(SqlParsing::thread);
    try {
      requireShallow(what, sql, ONE_SELECT);
      parsed =
          CCJSqlParserUtil.parseStatements(
              sql, executor, parser -> parser.withTimeOut(TimeUnit.SECONDS.toMillis(SECONDS)));
    } catch (JSQLParserException | TokenMgrException | StackOverflowError error) {
      throw unreadable(what, error, ONE_SELECT);
    } finally {
      executor.shutdownNow();
    }
    if (parsed == null || parsed.size() != 1) {
      int count = parsed == null ? 0 : parsed.size();
      throw SqlInvalid.of(what + " holds " + count + " statements", ONE_SELECT);
    }
    return parsed.get(0);
  }

  static String what(String argument, String text) {
    return argument + " \"" + SqlInvalid.shown(text) + "\"";
  }

  private static void requireLength(String what, String text) {
    if (text.length() > MAX_CHARACTERS) {
      throw SqlInvalid.of(
          what + " has " + text.length() + " characters",
          "SQL of "
              + MAX_CHARACTERS
              + " characters at most is read; load long lists of values into"
              + " a column, and filter by that");
    }
  }

  private static Thread thread(Runnable body) {
    Thread thread = new Thread(body, "tensorflow-ignite-sql");
    thread.setDaemon(true);
    return thread;
  }

  /** The parser tries every way to read what is nested: each level multiplies its time. */
  private static void requireShallow(String what, String text, String rule) {
    CCJSqlParserTokenManager tokens = CCJSqlParserUtil.newParser(text).token_source;
    int depth = 0;
    for (Token token = tokens.getNextToken(); token.kind != 0; token = tokens.getNextToken()) {
      String word = token.image.toUpperCase(Locale.ROOT);
      depth += OPENING.contains(word) ? 1 : CLOSING.contains(word) && depth > 0 ? -1 : 0;
      if (depth > MAX_DEPTH) {
        throw SqlInvalid.of(
            what + " cannot be read: it is nested more than " + MAX_DEPTH + " levels deep",
            "brackets and CASE are "
                + MAX_DEPTH
                + " deep at most: a AND b AND c needs none; "
                + rule);
      }
    }
  }

  private static TensorFlowIgniteException unreadable(String what, Throwable error, String rule) {
    String reason =
        error instanceof StackOverflowError
            ? "it is nested too deeply"
            : SqlInvalid.shown(
                String.valueOf(error.getMessage())
                    .replace("net.sf.jsqlparser.parser.ParseException: ", "")
                    .split("Was expecting")[0]);
    return SqlInvalid.of(what + " cannot be read: " + reason, rule, error);
  }
}
