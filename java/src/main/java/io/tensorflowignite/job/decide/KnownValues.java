package io.tensorflowignite.job.decide;

import com.google.protobuf.ProtocolMessageEnum;
import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.util.List;
import java.util.stream.Stream;

/**
 * Which rows this version understands, while nodes of two versions form a cluster. A node of a
 * later version may write states, phases and other values that this one does not know: the node
 * then leaves the job as it is, and waits for a node of the later version.
 */
public final class KnownValues {
  private KnownValues() {}

  /** Whether this version knows all values of a job on which decisions depend. */
  public static boolean areAll(Job job) {
    return job.getState() != JobState.JOB_STATE_UNREADABLE && !isOfLaterVersion(job);
  }

  /** Whether a later version has written the row of a job, with a value that this one lacks. */
  public static boolean isOfLaterVersion(Job job) {
    return JobLayout.isLater(job)
        || isUnknown(job.getState())
        || isUnknown(job.getOutcome())
        || isUnknown(job.getSpec().getStrategy().getKind())
        || isUnknown(job.getSpec().getRestart().getOnJoin())
        || isUnknown(job.getSpec().getRestart().getQuorum())
        || (job.getAttemptsCount() > 0 && isOfLaterVersion(JobMachine.attempt(job)));
  }

  /** Whether this version knows all values of a report. */
  public static boolean areAll(NodeReport report) {
    return !isUnknown(report.getReached()) && areAll(report.getTasksList());
  }

  private static boolean isOfLaterVersion(Attempt attempt) {
    return isUnknown(attempt.getPhase())
        || isUnknown(attempt.getCauseKind())
        || !areAll(attempt.getTasksList());
  }

  private static boolean areAll(List<Task> tasks) {
    return tasks.stream()
        .flatMap(task -> Stream.of(task.getRole(), task.getStatus().getState()))
        .noneMatch(KnownValues::isUnknown);
  }

  /** Generated enums have one constant for all numbers that they do not know. */
  private static boolean isUnknown(ProtocolMessageEnum value) {
    return ((Enum<?>) value).name().equals("UNRECOGNIZED");
  }
}
