package io.tensorflowignite.table;

import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;

import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Task;
import java.util.Comparator;

/** A job without what grows with its tasks and its history: for lists of jobs. */
public final class JobSummary {
  private static final int MAX_TEXT = 300;

  private JobSummary() {}

  /**
   * The summary of a job. Of the newest attempt it has the slowest task that has reported progress,
   * and no other.
   */
  public static Job of(Job job) {
    Job.Builder summary =
        Job.newBuilder()
            .setId(job.getId())
            .setLayout(JobLayout.CURRENT)
            .setSpec(spec(job.getSpec()))
            .setStateValue(job.getStateValue())
            .setOutcomeValue(job.getOutcomeValue())
            .setCause(shortened(job.getCause()))
            .setExitCode(job.getExitCode())
            .setStopRequested(job.getStopRequested())
            .setServiceNodeId(job.getServiceNodeId())
            .setWaitingFor(shortened(job.getWaitingFor()))
            .setLogsStored(job.getLogsStored())
            .setOwner(job.getOwner())
            .setQueuePosition(job.getQueuePosition());
    if (job.hasCreatedAt()) {
      summary.setCreatedAt(job.getCreatedAt());
    }
    if (job.hasAdmittedAt()) {
      summary.setAdmittedAt(job.getAdmittedAt());
    }
    if (job.hasFinishedAt()) {
      summary.setFinishedAt(job.getFinishedAt());
    }
    if (job.getAttemptsCount() > 0) {
      Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
      summary.addAttempts(attempt(newest)).setEarlierAttempts(newest.getNumber() - 1);
    }
    return summary.build();
  }

  private static JobSpec spec(JobSpec spec) {
    return JobSpec.newBuilder()
        .setName(spec.getName())
        .setStrategy(Strategy.newBuilder().setKindValue(spec.getStrategy().getKindValue()))
        .setCache(spec.getCache())
        .setPriority(spec.getPriority())
        .setScript(spec.getScript())
        .setCodeDigest(spec.getCodeDigest())
        .setCheckpointDirectory(spec.getCheckpointDirectory())
        .build();
  }

  private static Attempt attempt(Attempt attempt) {
    Attempt.Builder summary =
        Attempt.newBuilder()
            .setNumber(attempt.getNumber())
            .setPhaseValue(attempt.getPhaseValue())
            .setStartedAt(attempt.getStartedAt())
            .setCauseKindValue(attempt.getCauseKindValue())
            .setCause(shortened(attempt.getCause()))
            .setLastStep(attempt.getLastStep())
            .setResumedFromStep(attempt.getResumedFromStep());
    // In a job with a client process, all other tasks are servers, which count no steps.
    boolean hasClient =
        attempt.getTasksList().stream().anyMatch(task -> task.getRole() == ROLE_CLIENT);
    attempt.getTasksList().stream()
        .filter(task -> task.getStatus().hasProgress())
        .filter(
            task -> hasClient ? task.getRole() == ROLE_CLIENT : task.getRole() != ROLE_EVALUATOR)
        .min(Comparator.comparingLong(task -> task.getStatus().getProgress().getStep()))
        .ifPresent(task -> summary.addTasks(withoutPlace(task)));
    return summary.build();
  }

  private static Task withoutPlace(Task task) {
    Task.Builder summary =
        Task.newBuilder().setRole(task.getRole()).setIndex(task.getIndex()).setNodeId("");
    summary
        .getStatusBuilder()
        .setState(task.getStatus().getState())
        .setProgress(task.getStatus().getProgress().toBuilder().clearEnd().clearRounds());
    return summary.build();
  }

  private static String shortened(String text) {
    return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
  }
}
