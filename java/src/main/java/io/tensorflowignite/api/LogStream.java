package io.tensorflowignite.api;

import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.StreamLogsResponse;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sends the stored output of one job's tasks, and, when asked to follow, what is stored from then
 * on.
 */
final class LogStream {
  private static final long FOLLOW_MS = 100;

  private final JobTable jobs;
  private final LogTable logs;
  private final JobChanges changes;
  private final String jobId;
  private final StreamLogsRequest request;
  private final Map<TaskKey, Long> next = new HashMap<>();

  LogStream(
      JobTable jobs, LogTable logs, JobChanges changes, String jobId, StreamLogsRequest request) {
    this.jobs = jobs;
    this.logs = logs;
    this.changes = changes;
    this.jobId = jobId;
    this.request = request;
  }

  void send(ServerCallStreamObserver<StreamLogsResponse> response) {
    try (CallFlow flow = new CallFlow(response);
        JobChanges.Subscription subscription = changes.subscribe(jobId, flow::wake)) {
      while (true) {
        // The row is read before the output: what a job had stored when it was over is then all
        // sent.
        Job job = jobs.get(jobId).orElse(Job.getDefaultInstance());
        boolean last = !request.getFollow() || job.hasFinishedAt() || job.getId().isEmpty();
        if (!sendNews(job, response, flow)) {
          return;
        }
        if (last) {
          response.onCompleted();
          return;
        }
        flow.awaitNews(FOLLOW_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** False when nobody listens any more. */
  private boolean sendNews(
      Job job, ServerCallStreamObserver<StreamLogsResponse> response, CallFlow flow)
      throws InterruptedException {
    for (Attempt attempt : job.getAttemptsList()) {
      if (request.getAttempt() != 0 && request.getAttempt() != attempt.getNumber()) {
        continue;
      }
      for (Task task : attempt.getTasksList()) {
        for (int incarnation = 0;
            wanted(task) && incarnation <= task.getIncarnation();
            incarnation++) {
          if (!sendNews(key(attempt, task, incarnation), response, flow)) {
            return false;
          }
        }
      }
    }
    return !response.isCancelled();
  }

  private boolean sendNews(
      TaskKey task, ServerCallStreamObserver<StreamLogsResponse> response, CallFlow flow)
      throws InterruptedException {
    List<LogChunk> chunks;
    do {
      chunks = logs.read(task, next.getOrDefault(task, 0L));
      for (LogChunk chunk : chunks) {
        if (!flow.awaitReady()) {
          return false;
        }
        response.onNext(
            StreamLogsResponse.newBuilder()
                .setAttempt(task.getAttempt())
                .setRole(task.getRole())
                .setIndex(task.getIndex())
                .setIncarnation(task.getIncarnation())
                .setData(chunk.getData())
                .setDroppedBytes(chunk.getDroppedBytes())
                .build());
        next.put(task, chunk.getSequence() + 1);
      }
    } while (!chunks.isEmpty());
    return true;
  }

  private boolean wanted(Task task) {
    return (request.getRole() == Role.ROLE_UNSPECIFIED || request.getRole() == task.getRole())
        && (!request.hasIndex() || request.getIndex() == task.getIndex());
  }

  private TaskKey key(Attempt attempt, Task task, int incarnation) {
    return TaskKey.newBuilder()
        .setJobId(jobId)
        .setAttempt(attempt.getNumber())
        .setRole(task.getRole())
        .setIndex(task.getIndex())
        .setIncarnation(incarnation)
        .build();
  }
}
