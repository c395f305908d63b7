package io.tensorflowignite.metrics;

import java.util.Locale;

/** The table of metrics in docs/operations.md, made of {@link Metric}. */
final class MetricTable {
  static final String BEGIN = "<!-- metrics: made of Metric.java -->\n";
  static final String END = "<!-- metrics end -->\n";

  private MetricTable() {}

  static String text() {
    StringBuilder table =
        new StringBuilder(
            "| metric | type | labels | value | reported by |\n| --- | --- | --- | --- | --- |\n");
    for (Metric metric : Metric.values()) {
      table.append(
          String.format(
              "| `%s%s%s` | %s | %s | %s | %s |\n",
              Metric.PREFIX,
              metric.shortName,
              metric.type == Metric.Type.COUNTER ? "_total" : "",
              metric.type.name().toLowerCase(Locale.ROOT),
              String.join(", ", metric.labels),
              metric.help,
              metric.scope.text));
    }
    return table.toString();
  }
}
