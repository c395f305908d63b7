package io.tensorflowignite.data.sql;

import java.util.Optional;
import net.sf.jsqlparser.expression.Expression;

/** The expressions that a clause of a SELECT allows beside expressions over one row. */
interface Clause {
  /** Nothing else. */
  Clause ROWS = (expression, rules) -> Optional.empty();

  /**
   * Checks an expression that this clause has a rule for.
   *
   * @param rules check the parts of the expression
   * @return its kind and size; empty: the clause has no rule for it
   */
  Optional<Operand> check(Expression expression, ExpressionRules rules);
}
