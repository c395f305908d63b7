package io.tensorflowignite.region;

/** The sizes of rows, in bytes, as far as they matter for their spread over nodes. */
public final class RowSizes {
  private long total;
  private long largest;
  private double squares;

  public void add(long bytes) {
    total += bytes;
    largest = Math.max(largest, bytes);
    squares += (double) bytes * bytes;
  }

  public long total() {
    return total;
  }

  long largest() {
    return largest;
  }

  /** The sum of the squares of the sizes. */
  double squares() {
    return squares;
  }
}
