package io.tensorflowignite.data.sql;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.parser.CCJSqlParserTokenManager;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.parser.Token;
import net.sf.jsqlparser.parser.TokenMgrException;
import net.sf.jsqlparser.statement.Statement;

/** Parses texts to syntax trees, which are not checked yet. */
final class SqlParsing {
  static final int MAX_CHARACTERS = 16 << 10;
  static final int MAX_TOKENS = 1_000;
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

  private static final ThreadFactory THREADS =
      new ThreadFactoryBuilder().setNameFormat("tensorflow-ignite-sql").setDaemon(true).build();

  private SqlParsing() {}

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
      throw SqlErrors.invalid(text + " cannot be read", ONE_CONDITION);
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
      throw SqlErrors.invalid(text + " holds " + count + " statements", ONE_SELECT);
    }
    return parsed.get(0);
  }

  static String shown(String argument, String text) {
    return argument + " \"" + SqlErrors.shown(text) + "\"";
  }

  private static void requireLength(String text, String sql) {
    if (sql.length() > MAX_CHARACTERS) {
      throw SqlErrors.invalid(
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
        throw SqlErrors.invalid(
            text + " has more than " + MAX_TOKENS + " words, numbers and signs",
            "SQL may have "
                + MAX_TOKENS
                + " of them; load long lists of values into a column, and filter by that column");
      }
      String word = token.image.toUpperCase(Locale.ROOT);
      depth += OPENING.contains(word) ? 1 : CLOSING.contains(word) && depth > 0 ? -1 : 0;
      if (depth > MAX_DEPTH) {
        throw SqlErrors.invalid(
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
            : SqlErrors.shown(
                String.valueOf(error.getMessage())
                    .replace("net.sf.jsqlparser.parser.ParseException: ", "")
                    .split("Was expecting")[0]);
    return SqlErrors.invalid(text + " cannot be read: " + reason, rule, error);
  }
}
