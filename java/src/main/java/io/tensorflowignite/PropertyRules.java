package io.tensorflowignite;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/** Checks of the properties of {@link TensorFlowService}, and their errors. */
final class PropertyRules {
  static final long MEGABYTE = 1L << 20;

  /** The shortest time, in seconds. */
  static final double MILLISECOND = 0.001;

  /** The meaning of 0 for most limits. */
  static final String NO_LIMIT = ", for no limit,";

  private static final double SECONDS_PER_HOUR = 3600;

  /** Ten years. */
  private static final double MAX_SECONDS = 315_360_000;

  private PropertyRules() {}

  static Duration duration(double seconds) {
    return Duration.ofMillis(Math.round(seconds * 1000));
  }

  static Duration hours(double hours) {
    return duration(hours * SECONDS_PER_HOUR);
  }

  /** A time in seconds, at most ten years. */
  static double seconds(String property, double value, double least, String meaning) {
    return within(property, value, least, meaning, MAX_SECONDS);
  }

  /** A time in hours, at most ten years; 0 has the meaning. */
  static double hours(String property, double value, String meaning) {
    return within(property, value, 0, meaning, MAX_SECONDS / SECONDS_PER_HOUR);
  }

  /**
   * @param meaning of the least value, between commas; empty: it has no special one
   */
  static double within(String property, Number value, double least, String meaning, double most) {
    if (!(value.doubleValue() >= least && value.doubleValue() <= most)) {
      String rule = "It must be from " + (least < 1 && least > 0 ? "%s" : "%,.0f") + "%s to %,.0f";
      throw invalid(property, value, String.format(Locale.ROOT, rule, least, meaning, most));
    }
    return value.doubleValue();
  }

  static <T> T present(String property, T value) {
    if (value == null) {
      throw invalid(property, value, "It must not be null");
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
