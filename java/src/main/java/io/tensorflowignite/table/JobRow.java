package io.tensorflowignite.table;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Task;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A value of the job table as a job. */
final class JobRow {
  private final Object value;

  /** The job; if the row cannot be read, a job in state UNREADABLE with the reason. */
  final Job job;

  /** The number of tasks of the newest attempt of the job, which is not over, by id of a node. */
  final Map<String, Integer> tasksByNode;

  JobRow(Object key, Object value) {
    this.value = value;
    this.job = read(key, value);
    this.tasksByNode = job.hasFinishedAt() ? Map.of() : tasksByNode(job);
  }

  private static Map<String, Integer> tasksByNode(Job job) {
    return job.getAttemptsCount() == 0
        ? Map.of()
        : job.getAttempts(job.getAttemptsCount() - 1).getTasksList().stream()
            .collect(Collectors.toMap(Task::getNodeId, task -> 1, Integer::sum));
  }

  /** Whether the newest attempt of the job, which is not over, has tasks on the node. */
  boolean hasTasksOn(String node) {
    return tasksByNode.containsKey(node);
  }

  /** Whether the value of the row's key is still the same. */
  boolean isOf(Object other) {
    return Objects.deepEquals(value, other);
  }

  private static Job read(Object key, Object value) {
    String id = Rows.text(key);
    if (!(value instanceof byte[])) {
      return unreadable(id, "it is a " + value.getClass().getName() + " instead of bytes");
    }
    byte[] bytes = (byte[]) value;
    try {
      Job job = Job.parseFrom(bytes);
      String fault = fault(key, job);
      return fault == null ? job : unreadable(id, fault);
    } catch (InvalidProtocolBufferException e) {
      return unreadable(id, "its " + bytes.length + " bytes are no job: " + e.getMessage());
    }
  }

  /** Other bytes may happen to be a message too, so a row is checked for what each job has. */
  private static String fault(Object key, Job job) {
    if (!job.getId().equals(key)) {
      return "its id is '" + job.getId() + "', but its key '" + Rows.text(key) + "'";
    }
    if (job.getStateValue() == JobState.JOB_STATE_UNSPECIFIED_VALUE
        || job.getState() == JobState.JOB_STATE_UNREADABLE) {
      return "it has no state";
    }
    return times(job).allMatch(Timestamps::isValid) ? null : "one of its times is invalid";
  }

  private static Stream<Timestamp> times(Job job) {
    return Stream.concat(
        Stream.of(job.getCreatedAt(), job.getFinishedAt(), job.getNotBefore()),
        job.getAttemptsList().stream().flatMap(JobRow::times));
  }

  private static Stream<Timestamp> times(Attempt attempt) {
    return Stream.of(
        attempt.getStartedAt(),
        attempt.getRunningAt(),
        attempt.getEndingAt(),
        attempt.getFinishedAt(),
        attempt.getMovedAt());
  }

  private static Job unreadable(String id, String reason) {
    return Job.newBuilder()
        .setId(id)
        .setState(JobState.JOB_STATE_UNREADABLE)
        .setCause("the row of the job cannot be read: " + reason)
        .build();
  }
}
