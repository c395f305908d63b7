package io.tensorflowignite.security;

import io.tensorflowignite.job.Texts;
import io.tensorflowignite.v1.TaskKey;

/** How tasks are called in messages. */
final class TaskNames {
  private TaskNames() {}

  static String of(TaskKey task) {
    return String.format(
        "task %s %d of job %s (attempt %d)",
        Texts.role(task.getRole()), task.getIndex(), task.getJobId(), task.getAttempt());
  }
}
