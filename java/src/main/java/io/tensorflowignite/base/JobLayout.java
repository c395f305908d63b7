package io.tensorflowignite.base;

import io.tensorflowignite.v1.Job;

/**
 * The layout of the row of a job. A version that changes it takes the next number; nodes of this
 * version leave such rows as they are, while nodes of two versions form a cluster.
 */
public final class JobLayout {
  /** The number of the current layout in {@code Job.layout}. */
  public static final int CURRENT = 1;

  private JobLayout() {}

  /** Whether a later version has written the row. */
  public static boolean isLater(Job row) {
    return row.getLayout() > CURRENT;
  }
}
