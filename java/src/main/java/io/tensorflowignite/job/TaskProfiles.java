package io.tensorflowignite.job;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.ProfileTaskRequest;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskProfile;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * Requests for profiles of tasks, as messages to the nodes of the tasks. A message may be lost: the
 * caller waits for the files of the profile.
 */
public final class TaskProfiles {
  private static final String TOPIC = "tensorflow-ignite-profile";
  private static final double MIN_SECONDS = 0.1;
  private static final double MAX_SECONDS = 60;

  private TaskProfiles() {}

  /**
   * Begins to listen to requests for tasks of this node.
   *
   * @param onRequest is called on a thread of Ignite, and returns at once
   * @return ends this
   */
  public static Runnable listen(Ignite ignite, Consumer<TaskProfile> onRequest) {
    return NodeMessages.listen(
        ignite, TOPIC, TaskProfile.parser(), (node, request) -> onRequest.accept(request));
  }

  /**
   * Sends a request to the node of a task.
   *
   * @param job the job as its service observes it, which is not over
   * @throws TensorFlowIgniteException INVALID_REQUEST: the job has no such task that runs
   */
  public static TaskProfile send(Ignite ignite, Job job, ProfileTaskRequest request) {
    double seconds = request.getSeconds();
    if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS)) {
      throw invalidRequest(
          "The profile was not requested: %s seconds are out of range. A profile has %s to %.0f"
              + " seconds. Give a number of this range.",
          seconds, MIN_SECONDS, MAX_SECONDS);
    }
    Attempt attempt =
        job.getAttemptsCount() == 0
            ? Attempt.getDefaultInstance()
            : job.getAttempts(job.getAttemptsCount() - 1);
    Task task = find(job, attempt, request);
    String id = UUID.randomUUID().toString().substring(0, 8);
    TaskProfile profile =
        TaskProfile.newBuilder()
            .setKey(LogTable.key(job.getId(), attempt.getNumber(), task))
            .setProfileId(id)
            .setSeconds(seconds)
            .setDirectory(JobPaths.profile(job.getId(), id))
            .setName(name(task).replace(' ', '-'))
            .build();
    NodeMessages.send(ignite, UUID.fromString(task.getNodeId()), TOPIC, profile.toByteArray());
    return profile;
  }

  private static Task find(Job job, Attempt attempt, ProfileTaskRequest request) {
    List<Task> running =
        attempt.getTasksList().stream()
            .filter(task -> task.getStatus().getState() == TASK_STATE_RUNNING)
            .collect(Collectors.toList());
    return running.stream()
        .filter(task -> task.getRole() == request.getRole())
        .filter(task -> task.getIndex() == request.getIndex())
        .findFirst()
        .orElseThrow(
            () ->
                invalidRequest(
                    "The profile was not requested: job %s is %s, and its task %s %d does not run."
                        + " Only a task that runs has a profile%s. See: tensorflow-ignite describe"
                        + " %1$s",
                    job.getId(),
                    MessageText.state(job.getState()),
                    MessageText.role(request.getRole()),
                    request.getIndex(),
                    running.isEmpty()
                        ? "; none runs now"
                        : "; these run now: "
                            + running.stream()
                                .map(TaskProfiles::name)
                                .collect(Collectors.joining(", "))));
  }

  private static String name(Task task) {
    return task.getRoleName().isEmpty()
        ? MessageText.role(task.getRole()) + " " + task.getIndex()
        : task.getRoleName() + " " + task.getRoleIndex();
  }
}
