package io.tensorflowignite.data.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import net.sf.jsqlparser.expression.BinaryExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.conditional.AndExpression;
import net.sf.jsqlparser.expression.operators.relational.EqualsTo;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.parser.CCJSqlParserTokenManager;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.parser.Token;

/** The parts of a condition that all must be true for it to be true. */
final class Conjunction {
  private static final Set<String> ALTERNATIVES = Set.of("OR", "XOR");
  private static final Set<String> OPENING = Set.of("(", "CASE");
  private static final Set<String> CLOSING = Set.of(")", "END");

  private Conjunction() {}

  /** The equalities among the parts of a condition that may be absent (null). */
  static List<EqualsTo> equalities(Expression condition) {
    List<EqualsTo> found = new ArrayList<>();
    if (condition != null && !hasAlternatives(condition)) {
      collect(condition, found);
    }
    return found;
  }

  private static void collect(Expression part, List<EqualsTo> found) {
    if (part instanceof AndExpression) {
      collect(((BinaryExpression) part).getLeftExpression(), found);
      collect(((BinaryExpression) part).getRightExpression(), found);
    } else if (part instanceof InExpression) {
      // For our parser, the text after the list is a part of the list.
      Expression right = ((InExpression) part).getRightExpression();
      if (right instanceof AndExpression) {
        collect(right, found);
      }
    } else if (part instanceof ParenthesedExpressionList
        && ((ParenthesedExpressionList<?>) part).size() == 1) {
      found.addAll(equalities(((ParenthesedExpressionList<?>) part).get(0)));
    } else if (part instanceof EqualsTo) {
      found.add((EqualsTo) part);
    }
  }

  /**
   * Whether a condition has words outside of parentheses that take ANDs apart. Our parser and
   * Ignite's agree about a chain of ANDs, and not about each mix of AND, OR and IN.
   */
  private static boolean hasAlternatives(Expression condition) {
    CCJSqlParserTokenManager tokens = CCJSqlParserUtil.newParser(condition.toString()).token_source;
    int depth = 0;
    for (Token token = tokens.getNextToken(); token.kind != 0; token = tokens.getNextToken()) {
      String word = token.image.toUpperCase(Locale.ROOT);
      depth += OPENING.contains(word) ? 1 : CLOSING.contains(word) ? -1 : 0;
      if (depth == 0 && ALTERNATIVES.contains(word)) {
        return true;
      }
    }
    return false;
  }
}
