package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.TableScope.Source;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.relational.ExistsExpression;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.statement.select.AllColumns;
import net.sf.jsqlparser.statement.select.ParenthesedSelect;
import net.sf.jsqlparser.statement.select.PlainSelect;
import net.sf.jsqlparser.statement.select.SelectItem;

/**
 * The subqueries of a clause: EXISTS, the list of an IN, and one value. Each reads one table. The
 * table's rows must be on the node of the row for which the subquery runs.
 */
final class SubqueryRules implements Clause {
  private final StatementValues values;
  private final FromRules from;
  private final Set<Expression> inLists = Collections.newSetFromMap(new IdentityHashMap<>());
  private final List<SqlTable> lists = new ArrayList<>();

  /**
   * @param from finds the tables of subqueries
   */
  SubqueryRules(StatementValues values, FromRules from) {
    this.values = values;
    this.from = from;
  }

  /** The tables of the subqueries behind IN. */
  List<SqlTable> lists() {
    return List.copyOf(lists);
  }

  @Override
  public Optional<Operand> check(Expression expression, ExpressionRules rules) {
    if (expression instanceof InExpression) {
      inLists.add(ExpressionRules.list((InExpression) expression));
    } else if (expression instanceof ExistsExpression) {
      Expression select = ((ExistsExpression) expression).getRightExpression();
      if (select instanceof ParenthesedSelect) {
        check((ParenthesedSelect) select, rules, true);
        return Optional.of(Operand.number());
      }
    } else if (expression instanceof ParenthesedSelect) {
      return Optional.of(check((ParenthesedSelect) expression, rules, false));
    }
    return Optional.empty();
  }

  private Operand check(ParenthesedSelect parentheses, ExpressionRules around, boolean exists) {
    PlainSelect select = plain(parentheses);
    TableScope scope = around.scope().inner();
    Source source = from.other(select.getFromItem(), scope);
    if (inLists.contains(parentheses)) {
      lists.add(source.table());
    }
    Operand column = column(select.getSelectItems(), scope, exists, parentheses);
    new CoLocationRules(values.text(), scope)
        .require(source, select.getWhere(), "in the WHERE of the subquery");
    // Then subqueries in the condition find this table where it is.
    new ExpressionRules(scope, values, this).check(select.getWhere());
    return column;
  }

  private Operand column(
      List<SelectItem<?>> items, TableScope scope, boolean exists, ParenthesedSelect parentheses) {
    if (items.size() != 1 || items.get(0).getAlias() != null) {
      throw refused(parentheses, "it has not one column, without a name");
    }
    Expression expression = items.get(0).getExpression();
    if (exists && expression.getClass() == AllColumns.class) {
      return Operand.other();
    }
    return new ExpressionRules(scope, values, new AggregateRules(values, null)).check(expression);
  }

  /** The SELECT of a subquery, which must have columns, a table, a condition and nothing else. */
  private PlainSelect plain(ParenthesedSelect parentheses) {
    if (!(parentheses.getSelect() instanceof PlainSelect)) {
      throw refused(parentheses, "it is no plain SELECT");
    }
    PlainSelect select = (PlainSelect) parentheses.getSelect();
    PlainSelect plain = new PlainSelect();
    plain.setSelectItems(select.getSelectItems());
    plain.setFromItem(select.getFromItem());
    plain.setWhere(select.getWhere());
    if (!parentheses.toString().equals("(" + plain + ")")) {
      throw refused(parentheses, "it has more than one column, one table and a condition");
    }
    return select;
  }

  private RuntimeException refused(ParenthesedSelect subquery, String problem) {
    return SqlErrors.invalid(
        "in " + values.text() + ": " + SqlErrors.shown(subquery) + " is refused: " + problem,
        "a subquery is a SELECT of one column, which may be an aggregate, from one table with a"
            + " WHERE; write only this, or join the table");
  }
}
