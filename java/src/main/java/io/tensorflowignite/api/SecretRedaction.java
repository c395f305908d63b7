package io.tensorflowignite.api;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Task;

/** Removes the digests of tasks' tokens, which are for nodes only, from a job's row. */
final class SecretRedaction {
  private SecretRedaction() {}

  static Job of(Job job) {
    Job.Builder redacted = job.toBuilder();
    for (Attempt.Builder attempt : redacted.getAttemptsBuilderList()) {
      for (Task.Builder task : attempt.getTasksBuilderList()) {
        if (!task.getStatus().getTokenDigest().isEmpty()) {
          task.getStatusBuilder().clearTokenDigest();
        }
      }
    }
    return redacted.build();
  }
}
