package io.tensorflowignite.api;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Task;

/** A job's row without what is between nodes: the digests of its tasks' tokens. */
final class WithoutSecrets {
  private WithoutSecrets() {}

  static Job of(Job job) {
    Job.Builder told = job.toBuilder();
    for (Attempt.Builder attempt : told.getAttemptsBuilderList()) {
      for (Task.Builder task : attempt.getTasksBuilderList()) {
        if (!task.getStatus().getTokenDigest().isEmpty()) {
          task.getStatusBuilder().clearTokenDigest();
        }
      }
    }
    return told.build();
  }
}
