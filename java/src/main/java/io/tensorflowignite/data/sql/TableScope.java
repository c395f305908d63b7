package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import net.sf.jsqlparser.expression.BinaryExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.conditional.AndExpression;
import net.sf.jsqlparser.expression.operators.relational.EqualsTo;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.parser.CCJSqlParserTokenManager;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.parser.Token;
import net.sf.jsqlparser.schema.Column;

/**
 * The tables that the columns of a SELECT may belong to: the tables of its FROM clause, and for a
 * subquery also the tables of the outer SELECT.
 *
 * <p>The rows of the other tables must be with each row of the cache, so that the owner of its
 * partition answers alone. Ignite restricts a query to partitions of the same numbers in all
 * PARTITIONED caches that it reads, and reads REPLICATED ones whole ({@link SqlQueries}). So a
 * REPLICATED table may meet any condition; a row of a PARTITIONED one must have the affinity key of
 * the row that it belongs to.
 */
final class TableScope {
  /** A table with its name in the statement. */
  static final class Source {
    private final String alias;
    final SqlTable table;

    /**
     * Whether the rows that belong to a row of the cache are in the partition of that row, by their
     * affinity key.
     */
    boolean coLocated;

    /** Whether each row of the tables before this one has at most one row of it. */
    boolean single;

    /** Whether each row of the cache has at most one row of this table. */
    boolean determined;

    private Source(String alias, SqlTable table) {
      this.alias = alias;
      this.table = table;
    }

    /** The name in front of its columns, as SQL text. */
    String written() {
      return SqlTable.quote(alias);
    }

    /** The affinity key column with the table's name, for errors. */
    String key() {
      return alias + "." + table.affinity.key().orElse("_KEY");
    }
  }

  private static final Set<String> ALTERNATIVES = Set.of("OR", "XOR");
  private static final Set<String> OPENING = Set.of("(", "CASE");
  private static final Set<String> CLOSING = Set.of(")", "END");

  private final String text;
  private final TableScope outer;
  private final Set<String> aliases;
  private final List<Source> sources = new ArrayList<>();

  private TableScope(String text, TableScope outer, Set<String> aliases) {
    this.text = text;
    this.outer = outer;
    this.aliases = aliases;
  }

  /**
   * Without tables yet.
   *
   * @param text the text that contains the statement, for errors
   */
  TableScope(String text) {
    this(text, null, new HashSet<>());
  }

  /** The scope of a subquery. */
  TableScope inner() {
    return new TableScope(text, this, aliases);
  }

  /** The cache's own table. */
  Source addFirst(String alias, SqlTable table) {
    Source source = new Source(alias, table);
    source.coLocated = !table.affinity.isReplicated();
    source.determined = true;
    aliases.add(alias);
    sources.add(source);
    return source;
  }

  /**
   * Another table, which is not co-located yet; empty if another table of the statement has the
   * name, so that a name means the same table everywhere in the statement.
   *
   * @param alias its name, as {@link SqlTable#resolveName} returns it
   */
  Optional<Source> add(String alias, SqlTable table) {
    if (!aliases.add(alias)) {
      return Optional.empty();
    }
    Source source = new Source(alias, table);
    sources.add(source);
    return Optional.of(source);
  }

  /** The table of a column: the named table, or the only table that has the column. */
  Optional<Source> source(Column column) {
    if (column.getTable() != null) {
      return named(SqlTable.resolveName(column.getTable().getName()));
    }
    String name = SqlTable.resolveName(column.getColumnName());
    if (outer == null && sources.size() == 1) {
      return Optional.of(sources.get(0));
    }
    List<Source> found =
        sources.stream()
            .filter(source -> source.table.hasColumn(name))
            .collect(Collectors.toList());
    if (found.isEmpty() && outer != null) {
      return outer.source(column);
    }
    return found.size() == 1 ? Optional.of(found.get(0)) : Optional.empty();
  }

  /**
   * Writes a column in quotes as SQL has it. Ignite's parser makes each letter a capital for
   * itself, and finds no column of a name with ß, which has SS in capitals.
   */
  void makeExact(Column column) {
    String written = column.getColumnName();
    if (SqlTable.isQuoted(written)
        || written.toUpperCase(Locale.ROOT).length() != written.length()) {
      source(column)
          .map(source -> source.table.exactName(SqlTable.unquoted(written)))
          .ifPresent(exact -> column.setColumnName(SqlTable.quote(exact)));
    }
  }

  /** The table that a name in front of a column or a star means. */
  Optional<Source> named(String alias) {
    for (TableScope scope = this; scope != null; scope = scope.outer) {
      for (Source source : scope.sources) {
        if (source.alias.equals(alias)) {
          return Optional.of(source);
        }
      }
    }
    return Optional.empty();
  }

  /** The class of a column's values; null: unknown. */
  String type(Column column) {
    String name = SqlTable.resolveName(column.getColumnName());
    return source(column).map(source -> source.table.type(name)).orElse(null);
  }

  /** The cache's own table. */
  Source main() {
    TableScope scope = this;
    while (scope.outer != null) {
      scope = scope.outer;
    }
    return scope.sources.get(0);
  }

  /** The tables of the FROM clause. */
  List<Source> sources() {
    return List.copyOf(sources);
  }

  /**
   * Throws unless, for each row of the cache, all rows of a table that meet a condition are on the
   * same node as this row.
   *
   * @param condition the condition of the join or subquery; null: none
   * @param clause the clause in which the equality of the affinity keys must be, for errors
   */
  void requireCoLocated(Source source, Expression condition, String clause) {
    List<EqualsTo> equalities = equalities(condition);
    for (EqualsTo equality : equalities) {
      Optional<Source> partner = partner(equality, source);
      source.single |= partner.isPresent();
      source.determined |= partner.filter(other -> other.determined).isPresent();
    }
    SqlTable table = source.table;
    SqlTable main = main().table;
    if (table.affinity.isReplicated()) {
      if (!table.affinity.isOnNodesOf(main.affinity)) {
        throw SqlText.invalid(
            text + " reads " + table + ", which is REPLICATED, but not to all nodes of " + main,
            "each owner needs all rows of a REPLICATED table; create its cache "
                + table.cache
                + " without a node filter, or with the node filter of cache "
                + main.cache);
      }
      return;
    }
    if (main.affinity.isReplicated()) {
      throw SqlText.invalid(
          text + " reads " + table + ", which is PARTITIONED, beside " + main,
          "cache "
              + main.cache
              + " is REPLICATED, and the rows of a PARTITIONED cache lie on other nodes than its"
              + " partitions; read cache "
              + table.cache
              + " instead, and join this REPLICATED one to it");
    }
    Optional<String> difference = table.affinity.difference(main.affinity);
    if (difference.isPresent()) {
      throw notCoLocated(table, main, difference.get());
    }
    if (equalities.stream().noneMatch(equal -> coLocates(equal, source))) {
      throw SqlText.invalid(
          text + " reads " + table + " without the equality of the affinity keys",
          "each owner has only the rows of its partitions, so rows of two PARTITIONED tables must"
              + " have the same affinity key; write "
              + clause
              + " "
              + source.key()
              + " = "
              + main().key()
              + ", with the tables' names as here, combined with other conditions by AND");
    }
    source.coLocated = true;
  }

  private TensorFlowIgniteException notCoLocated(SqlTable table, SqlTable main, String reason) {
    return SqlText.invalid(
        text + " reads " + table + ", which is not co-located with " + main + ": " + reason,
        String.format(
            "each owner answers from its partitions alone, so equal keys must lie on one node;"
                + " co-locate cache %s with cache %s by creating both with the same affinity"
                + " function, number of partitions, node filter and query parallelism, and with an"
                + " affinity key of the same type (TINYINT, SMALLINT, INT, BIGINT, VARCHAR or UUID;"
                + " tensorflow_ignite.load(affinity=), CREATE TABLE ... WITH"
                + " \"affinity_key=...\"), or make it REPLICATED",
            table.cache, main.cache));
  }

  /** Whether an equality is of the affinity keys of a table and of a co-located table. */
  private boolean coLocates(EqualsTo equality, Source source) {
    Expression left = equality.getLeftExpression();
    Expression right = equality.getRightExpression();
    return (isKey(left, source) && isCoLocatedKey(right))
        || (isKey(right, source) && isCoLocatedKey(left));
  }

  private boolean isKey(Expression expression, Source source) {
    return source(expression).filter(source::equals).isPresent()
        && source.table.affinity.isKey(name(expression));
  }

  private boolean isCoLocatedKey(Expression expression) {
    return source(expression)
        .filter(found -> found.coLocated && isKey(expression, found))
        .isPresent();
  }

  /**
   * The other table of an equality with this table's whole key: each of its rows has at most one
   * row here.
   */
  private Optional<Source> partner(EqualsTo equality, Source source) {
    Expression left = equality.getLeftExpression();
    Expression right = equality.getRightExpression();
    Expression other = isWholeKey(left, source) ? right : isWholeKey(right, source) ? left : null;
    return other == null ? Optional.empty() : source(other).filter(table -> table != source);
  }

  private boolean isWholeKey(Expression expression, Source source) {
    return source(expression).filter(source::equals).isPresent()
        && source.table.affinity.isWholeKey(name(expression));
  }

  /** The table of a column that is written with the table's name. */
  private Optional<Source> source(Expression expression) {
    return expression.getClass() == Column.class && ((Column) expression).getTable() != null
        ? source((Column) expression)
        : Optional.empty();
  }

  private static String name(Expression column) {
    return SqlTable.resolveName(((Column) column).getColumnName());
  }

  /** The equalities among the parts of a condition that may be absent (null). */
  private static List<EqualsTo> equalities(Expression condition) {
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
