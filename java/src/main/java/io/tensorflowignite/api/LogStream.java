package io.tensorflowignite.api;

import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.job.JobFiles;
import io.tensorflowignite.job.JobStore;
import io.tensorflowignite.storage.StorageInput;
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
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sends the stored output of one job's tasks, and, when asked to follow, what is stored from then
 * on. While a job runs its output is in chunks; some time after its end it is in files, and the
 * job's row says so before the chunks go.
 */
final class LogStream {
  private static final long FOLLOW_MS = 100;

  private final JobTable jobs;
  private final LogTable logs;
  private final JobStore files;
  private final JobChanges changes;
  private final String jobId;
  private final StreamLogsRequest request;
  private final Map<TaskKey, Place> places = new HashMap<>();

  /** What has been sent of one task's output. */
  private static final class Place {
    long chunks;
    long bytes;
  }

  LogStream(
      JobTable jobs,
      LogTable logs,
      JobStore files,
      JobChanges changes,
      String jobId,
      StreamLogsRequest request) {
    this.jobs = jobs;
    this.logs = logs;
    this.files = files;
    this.changes = changes;
    this.jobId = jobId;
    this.request = request;
  }

  void send(ServerCallStreamObserver<StreamLogsResponse> response, CallFlow flow)
      throws InterruptedException {
    try (JobChanges.Subscription subscription = changes.subscribe(jobId, flow::wake)) {
      while (true) {
        // The row is read before the output: what a job had stored when it was over is then all
        // sent.
        Job job = jobs.get(jobId).orElse(Job.getDefaultInstance());
        boolean last = !request.getFollow() || job.hasFinishedAt() || job.getId().isEmpty();
        if (!sendNews(job, response, flow)) {
          return;
        }
        if (last && !movedSince(job)) {
          response.onCompleted();
          return;
        }
        flow.awaitNews(FOLLOW_MS);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Chunks may then have gone before they were looked for. */
  private boolean movedSince(Job seen) {
    return !seen.getLogsStored() && jobs.get(jobId).filter(Job::getLogsStored).isPresent();
  }

  /** False when nobody listens any more. */
  private boolean sendNews(
      Job job, ServerCallStreamObserver<StreamLogsResponse> response, CallFlow flow)
      throws InterruptedException, IOException {
    for (Attempt attempt : job.getAttemptsList()) {
      if (request.getAttempt() != 0 && request.getAttempt() != attempt.getNumber()) {
        continue;
      }
      for (Task task : attempt.getTasksList()) {
        for (int incarnation = 0;
            wanted(task) && incarnation <= task.getIncarnation();
            incarnation++) {
          TaskKey key = key(attempt, task, incarnation);
          if (!(job.getLogsStored()
              ? sendFile(key, response, flow)
              : sendChunks(key, response, flow))) {
            return false;
          }
        }
      }
    }
    return !response.isCancelled();
  }

  private boolean sendChunks(
      TaskKey task, ServerCallStreamObserver<StreamLogsResponse> response, CallFlow flow)
      throws InterruptedException {
    Place place = places.computeIfAbsent(task, key -> new Place());
    List<LogChunk> chunks;
    do {
      chunks = logs.read(task, place.chunks);
      for (LogChunk chunk : chunks) {
        if (!send(task, chunk, response, flow)) {
          return false;
        }
        place.chunks++;
      }
    } while (!chunks.isEmpty());
    return true;
  }

  /** A task that has printed nothing has no file. */
  private boolean sendFile(
      TaskKey task, ServerCallStreamObserver<StreamLogsResponse> response, CallFlow flow)
      throws InterruptedException, IOException {
    Place place = places.computeIfAbsent(task, key -> new Place());
    String path = JobFiles.log(task);
    if (!files.exists(path)) {
      return true;
    }
    try (StorageInput file = files.read(path)) {
      StoredLog log = new StoredLog(file, logs.gap(task), place.bytes);
      for (LogChunk piece = log.next(); piece != null; piece = log.next()) {
        if (!send(task, piece, response, flow)) {
          return false;
        }
      }
    }
    return true;
  }

  private boolean send(
      TaskKey task,
      LogChunk chunk,
      ServerCallStreamObserver<StreamLogsResponse> response,
      CallFlow flow)
      throws InterruptedException {
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
    places.get(task).bytes += chunk.getData().size();
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
