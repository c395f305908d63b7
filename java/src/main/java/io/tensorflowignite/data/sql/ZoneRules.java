package io.tensorflowignite.data.sql;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import net.sf.jsqlparser.expression.CaseExpression;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.relational.Between;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.IsDistinctExpression;

/**
 * Which parts of an expression depend on the node's time zone: SQL reads and writes the day and the
 * time of an instant in that zone.
 */
final class ZoneRules {
  /** What compares instants besides {@link ExpressionRules#COMPARISONS}. */
  private static final Set<Class<?>> FURTHER_COMPARISONS =
      Set.of(IsDistinctExpression.class, Between.class, InExpression.class, CaseExpression.class);

  private static final Set<String> PARSERS = Set.of("PARSEDATETIME", "TO_DATE", "TO_TIMESTAMP");
  private static final Set<String> AGGREGATES = Set.of("COUNT", "MIN", "MAX");

  /** A day and a time with the offset of a time zone. */
  private static final Pattern INSTANT =
      Pattern.compile(".*\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?\\s*(Z|[+-]\\d\\d:\\d\\d)");

  private ZoneRules() {}

  /**
   * @param name the function's name in upper case, or the operator
   */
  static boolean dependsOnZone(Expression part, String name, List<Operand> operands) {
    if (part instanceof CastExpression && makesTime((CastExpression) part)
        || PARSERS.contains(name)) {
      return true;
    }
    if (AGGREGATES.contains(name) || operands.stream().noneMatch(Operand::isInstant)) {
      return false;
    }
    return !compares(part.getClass()) || !operands.stream().allMatch(ZoneRules::isInstant);
  }

  private static boolean compares(Class<?> part) {
    return ExpressionRules.COMPARISONS.contains(part) || FURTHER_COMPARISONS.contains(part);
  }

  private static boolean makesTime(CastExpression cast) {
    String type = cast.getColDataType().getDataType().toUpperCase(Locale.ROOT);
    return type.startsWith("TIME") || type.startsWith("DATE");
  }

  private static boolean isInstant(Operand operand) {
    return operand.isInstant()
        || operand.literal().filter(text -> INSTANT.matcher(text).matches()).isPresent();
  }
}
