package io.tensorflowignite.metrics;

/** The table of metrics in docs/operations.md, made of {@link Metric}: names without the prefix. */
final class MetricTable {
  static final String BEGIN = "<!-- metrics: made of Metric.java -->\n";
  static final String END = "<!-- metrics end -->\n";

  private MetricTable() {}

  static String text() {
    StringBuilder table = new StringBuilder("| metric | labels | value |\n| --- | --- | --- |\n");
    Metric.Scope scope = null;
    for (Metric metric : Metric.values()) {
      if (metric.scope != scope) {
        scope = metric.scope;
        table.append(String.format("| **%s** |\n", scope.text));
      }
      table.append(
          String.format(
              "| `%s%s` | %s | %s%s |\n",
              metric.shortName,
              metric.type == Metric.Type.COUNTER ? "_total" : "",
              String.join(", ", metric.labels),
              metric.type == Metric.Type.HISTOGRAM ? "Histogram: " : "",
              metric.help));
    }
    return table.toString();
  }
}
