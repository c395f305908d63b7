package io.tensorflowignite;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/** Checks of the properties of {@link TensorFlowService}, and their errors. */
final class PropertyRules {
  static final long MEGABYTE = 1L << 20;

  private static final double SECONDS_PER_HOUR = 3600;

  private PropertyRules() {}

  static Duration duration(double seconds) {
    return Duration.ofMillis(Math.round(seconds * 1000));
  }

  static Duration hours(double hours) {
    return duration(hours * SECONDS_PER_HOUR);
  }

  static double positive(String property, double value) {
    if (!(value > 0)) {
      throw invalid(property, value, "It must be above 0");
    }
    return value;
  }

  static double unlessZero(String property, double value) {
    if (!(value >= 0)) {
      throw invalid(property, value, "It must be 0, for no limit, or above");
    }
    return value;
  }

  /**
   * @param meaning of the least value, between commas; empty: it has no special one
   */
  static int within(String property, int value, int least, String meaning, int most) {
    if (value < least || value > most) {
      String rule = "It must be from %,d%s to %,d";
      throw invalid(property, value, String.format(Locale.ROOT, rule, least, meaning, most));
    }
    return value;
  }

  static <E extends Enum<E>> E choice(String property, Class<E> type, String name, String names) {
    return Arrays.stream(type.getEnumConstants())
        .filter(known -> known.name().toLowerCase(Locale.ROOT).equals(name))
        .findFirst()
        .orElseThrow(() -> invalid(property, "'" + name + "'", "It must be " + names));
  }

  static IllegalArgumentException invalid(String property, Object value, String rule) {
    return new IllegalArgumentException(
        String.format(
            "TensorFlowService.%s is %s. %s. Set %1$s to such a value in the configuration.",
            property, value, rule));
  }
}
