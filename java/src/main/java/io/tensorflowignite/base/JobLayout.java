package io.tensorflowignite.base;

import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;

/**
 * The layouts of the row of a job. In the current one the row has the newest attempt alone, and
 * nodes report by messages. In the earlier one it has all attempts, and {@code layout} is the
 * outcome: a node of an earlier version takes the number of the current layout for an outcome of a
 * later version, and leaves the job as it is.
 */
public final class JobLayout {
  /** The number of the current layout in {@code Job.layout} and {@code Node.layout}. */
  public static final int CURRENT = 1000;

  private JobLayout() {}

  public static boolean isCurrent(Job row) {
    return row.getLayout() == CURRENT;
  }

  /** Whether a later version has written the row. */
  public static boolean isLater(Job row) {
    return !isCurrent(row) && JobState.forNumber(row.getLayout()) == null;
  }

  /** A row of any layout, with its outcome in {@code outcome}. */
  public static Job read(Job row) {
    return isCurrent(row) || isLater(row) || row.getLayout() == 0
        ? row
        : row.toBuilder().setOutcomeValue(row.getLayout()).clearLayout().build();
  }

  /** The job in the earlier layout. Answers to callers have this layout too. */
  public static Job earlier(Job job) {
    return isLater(job) ? job : job.toBuilder().setLayout(job.getOutcomeValue()).build();
  }
}
