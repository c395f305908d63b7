package io.tensorflowignite.settings;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How fast rows are read from a node: whether reading yields to other work, and the most. */
public final class ReadRate implements Serializable {
  /** The rule of {@link #parse}, for messages. */
  public static final String RULE =
      "bytes in a second such as 200MB (units kB, MB, GB, TB, KiB, MiB, GiB, TiB), or rows in a"
          + " second such as 50000rows, above 0";

  /** As fast as possible while the node has no other work; that work first otherwise. */
  public static final ReadRate ADAPTIVE = new ReadRate(true, 0, 0);

  /** As fast as possible. */
  public static final ReadRate UNLIMITED = new ReadRate(false, 0, 0);

  private static final long serialVersionUID = 1L;
  private static final Pattern BYTES = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*(|[kmgt]i?)b");
  private static final Pattern ROWS = Pattern.compile("(\\d+)\\s*rows");
  private static final int MAX_TEXT = 40;
  private static final Map<String, Long> UNITS =
      Map.of(
          "", 1L,
          "k", 1_000L,
          "m", 1_000_000L,
          "g", 1_000_000_000L,
          "t", 1_000_000_000_000L,
          "ki", 1L << 10,
          "mi", 1L << 20,
          "gi", 1L << 30,
          "ti", 1L << 40);

  /** Whether reading yields to the application's work on the node. */
  public final boolean yields;

  /** The most bytes in a second; 0: no limit. */
  public final long bytes;

  /** The most rows in a second; 0: no limit. */
  public final long rows;

  private ReadRate(boolean yields, long bytes, long rows) {
    this.yields = yields;
    this.bytes = bytes;
    this.rows = rows;
  }

  /** A rate of bytes or rows, see {@link #RULE}; empty: the text is none. */
  public static Optional<ReadRate> parse(String text) {
    if (text == null || text.length() > MAX_TEXT) {
      return Optional.empty();
    }
    String lower = text.trim().toLowerCase(Locale.ROOT);
    Matcher rows = ROWS.matcher(lower);
    Matcher bytes = BYTES.matcher(lower);
    BigDecimal number;
    if (rows.matches()) {
      number = new BigDecimal(rows.group(1));
    } else if (bytes.matches()) {
      number =
          new BigDecimal(bytes.group(1)).multiply(BigDecimal.valueOf(UNITS.get(bytes.group(2))));
    } else {
      return Optional.empty();
    }
    long value = number.min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue();
    if (value < 1) {
      return Optional.empty();
    }
    return Optional.of(
        rows.matches() ? new ReadRate(true, 0, value) : new ReadRate(true, value, 0));
  }
}
