package io.tensorflowignite.api;

import com.google.protobuf.util.Timestamps;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.RareLog;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.JobFiles;
import io.tensorflowignite.job.JobRemoval;
import io.tensorflowignite.job.JobStore;
import io.tensorflowignite.job.Retention;
import io.tensorflowignite.job.Texts;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.tree.FilePath;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.GetJobResponse;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListJobsResponse;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.ListNodesResponse;
import io.tensorflowignite.v1.NodeApiGrpc;
import io.tensorflowignite.v1.RemoveJobRequest;
import io.tensorflowignite.v1.RemoveJobResponse;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.StopJobResponse;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.StreamLogsResponse;
import io.tensorflowignite.v1.SubmitJobRequest;
import io.tensorflowignite.v1.SubmitJobResponse;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.UploadCodeRequest;
import io.tensorflowignite.v1.UploadCodeResponse;
import io.tensorflowignite.v1.WatchJobRequest;
import io.tensorflowignite.v1.WatchJobResponse;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/** The node API over the system caches. Any node answers: the caches are the same everywhere. */
public final class NodeApiService extends NodeApiGrpc.NodeApiImplBase {
  private static final int MIN_PREFIX = 4;

  private final RareLog log;
  private final JobTable jobs;
  private final NodeTable nodes;
  private final CodeStore code;
  private final LogTable logs;
  private final JobChanges changes;
  private final JobValidator validator;
  private final JobRemoval removal;
  private final JobStore files;
  private final Retention retention;
  private final long codeLimitBytes;
  private final Guard guard;

  /**
   * @param encrypted whether any connections of the cluster are encrypted
   */
  public NodeApiService(
      Ignite ignite,
      ClusterSettings settings,
      JobTable jobs,
      NodeTable nodes,
      JobChanges changes,
      JobRemoval removal,
      JobStore files,
      Guard guard,
      boolean encrypted) {
    this.guard = guard;
    this.log = new RareLog(ignite.log().getLogger(NodeApiService.class));
    this.jobs = jobs;
    this.nodes = nodes;
    this.code = new CodeStore(files);
    this.logs = new LogTable(ignite);
    this.changes = changes;
    this.validator = new JobValidator(ignite, nodes, code, encrypted);
    this.removal = removal;
    this.files = files;
    this.retention = new Retention(settings.jobRetention());
    this.codeLimitBytes = settings.codeLimitBytes();
  }

  @Override
  public StreamObserver<UploadCodeRequest> uploadCode(StreamObserver<UploadCodeResponse> response) {
    guard.submit();
    return new CodeUpload(code, codeLimitBytes, response);
  }

  @Override
  public void submitJob(SubmitJobRequest request, StreamObserver<SubmitJobResponse> response) {
    guard.submit();
    requireReachable(request.getSpec());
    Job job =
        jobs.all().stream()
            .filter(known -> known.getRequestId().equals(request.getRequestId()))
            .findFirst()
            .orElse(null);
    if (job != null) {
      guard.watch(job);
    } else {
      validator.validate(request.getSpec());
      job = insert(request);
    }
    answer(response, SubmitJobResponse.newBuilder().setJob(told(job)).build());
  }

  /** A task reads and writes what its job names: so must who submits it be able to. */
  private void requireReachable(JobSpec spec) {
    guard.readCache(spec.getCache());
    spec.getMoreCachesList().forEach(guard::readCache);
    JobFiles.path(spec.getCheckpointDirectory())
        .ifPresent(
            path -> guard.writeTree(FilePath.parse(path).toString(), TaskKey.getDefaultInstance()));
  }

  /** As clients are told of a job. */
  private Job told(Job job) {
    return WithoutSecrets.of(retention.told(job));
  }

  private Job insert(SubmitJobRequest request) {
    if (request.getRequestId().isEmpty()) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          "The submission has no request_id. Each has one of its own, so that repeating it makes no"
              + " second job. Choose one.");
    }
    // The id follows from the request: the same call, sent to two nodes at once, meets itself in
    // the table.
    String id =
        Texts.shortId(UUID.nameUUIDFromBytes(request.getRequestIdBytes().toByteArray()).toString());
    JobSpec.Builder spec = request.getSpec().toBuilder();
    if (spec.getCheckpointDirectory().isEmpty()) {
      spec.setCheckpointDirectory(JobFiles.checkpoints(id));
    }
    Job job =
        Job.newBuilder()
            .setId(id)
            .setRequestId(request.getRequestId())
            .setSpec(spec)
            .setOwner(guard.owner())
            .setState(JobState.PENDING)
            .setCreatedAt(Timestamps.fromMillis(System.currentTimeMillis()))
            .build();
    if (jobs.insert(job)) {
      return job;
    }
    return jobs.get(job.getId())
        .filter(known -> known.getRequestId().equals(request.getRequestId()))
        .orElseThrow(
            () ->
                new TensorFlowIgniteException(
                    ErrorCode.INVALID_REQUEST,
                    "The job id "
                        + job.getId()
                        + " is taken. Ids are made from the request_id. Submit with another one."));
  }

  @Override
  public void getJob(GetJobRequest request, StreamObserver<GetJobResponse> response) {
    Job job = told(find(request.getJobId(), guard::mayWatch, guard::watch));
    answer(response, GetJobResponse.newBuilder().setJob(job).build());
  }

  @Override
  public void listJobs(ListJobsRequest request, StreamObserver<ListJobsResponse> response) {
    List<Job> all = guard.watchable(jobs.all());
    all.replaceAll(this::told);
    all.sort(Comparator.comparing(Job::getCreatedAt, Timestamps.comparator()).reversed());
    answer(response, ListJobsResponse.newBuilder().addAllJobs(all).build());
  }

  @Override
  public void stopJob(StopJobRequest request, StreamObserver<StopJobResponse> response) {
    Job found = find(request.getJobId(), guard::mayStop, guard::stop);
    Job stopped =
        jobs.update(
                found.getId(),
                job -> job.hasFinishedAt() ? job : job.toBuilder().setStopRequested(true).build())
            .orElseThrow(() -> notFound(found.getId()));
    if (stopped.hasFinishedAt() && !found.getStopRequested()) {
      throw new TensorFlowIgniteException(
          ErrorCode.JOB_FINISHED,
          "Job "
              + stopped.getId()
              + " is over ("
              + Texts.state(stopped.getState())
              + "). Only a job that is not over can be stopped. See: tensorflow-ignite describe "
              + stopped.getId());
    }
    answer(response, StopJobResponse.newBuilder().setJob(told(stopped)).build());
  }

  @Override
  public void removeJob(RemoveJobRequest request, StreamObserver<RemoveJobResponse> response) {
    Job job = find(request.getJobId(), guard::mayStop, guard::stop);
    if (!job.hasFinishedAt()) {
      throw new TensorFlowIgniteException(
          ErrorCode.JOB_NOT_FINISHED,
          "Job "
              + job.getId()
              + " is not removed: it is "
              + Texts.state(job.getState())
              + ". Only a job that is over can be removed. Stop it first: tensorflow-ignite stop "
              + job.getId());
    }
    Retention.userOf(job, jobs.all())
        .ifPresent(
            user -> {
              throw new TensorFlowIgniteException(
                  ErrorCode.JOB_NOT_FINISHED,
                  "Job "
                      + job.getId()
                      + " is not removed: job "
                      + user.getId()
                      + " keeps its checkpoints in "
                      + user.getSpec().getCheckpointDirectory()
                      + ", and is not over. The files of a job stay while another one needs them."
                      + " Wait for the end of that job, or stop it: tensorflow-ignite stop "
                      + user.getId());
            });
    removal.remove(job);
    answer(response, RemoveJobResponse.newBuilder().setJob(WithoutSecrets.of(job)).build());
  }

  @Override
  public void watchJob(WatchJobRequest request, StreamObserver<WatchJobResponse> response) {
    String id = find(request.getJobId(), guard::mayWatch, guard::watch).getId();
    CallFlow.serve(
        (ServerCallStreamObserver<?>) response, log, flow -> sendChanges(id, response, flow));
  }

  private void sendChanges(String id, StreamObserver<WatchJobResponse> response, CallFlow flow)
      throws InterruptedException {
    try (JobChanges.Subscription subscription = changes.subscribe(id, flow::wake)) {
      Job last = null;
      while (flow.awaitReady()) {
        Job job = jobs.get(id).orElseThrow(() -> notFound(id));
        if (!job.equals(last)) {
          response.onNext(WatchJobResponse.newBuilder().setJob(told(job)).build());
          last = job;
        }
        if (job.hasFinishedAt()) {
          response.onCompleted();
          return;
        }
        flow.awaitNews();
      }
    }
  }

  @Override
  public void streamLogs(StreamLogsRequest request, StreamObserver<StreamLogsResponse> response) {
    ServerCallStreamObserver<StreamLogsResponse> call =
        (ServerCallStreamObserver<StreamLogsResponse>) response;
    String id = find(request.getJobId(), guard::mayWatch, guard::watch).getId();
    LogStream stream = new LogStream(jobs, logs, files, changes, id, request);
    CallFlow.serve(call, log, flow -> stream.send(call, flow));
  }

  @Override
  public void listNodes(ListNodesRequest request, StreamObserver<ListNodesResponse> response) {
    guard.nodes();
    answer(response, ListNodesResponse.newBuilder().addAllNodes(nodes.live()).build());
  }

  /**
   * @param may whether the caller may do with a job what it is about to: of several that could be
   *     meant, only those count
   * @param require refuses what may not be done
   */
  private Job find(String id, Predicate<Job> may, Consumer<Job> require) {
    List<Job> known =
        jobs.all().stream()
            .filter(
                job ->
                    job.getId().equals(id)
                        || (id.length() >= MIN_PREFIX && job.getId().startsWith(id)))
            .collect(Collectors.toList());
    List<Job> matches = known.stream().filter(may).collect(Collectors.toList());
    if (matches.size() > 1) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          "'"
              + id
              + "' is the beginning of "
              + matches.size()
              + " job ids. A prefix of at least 4 characters must fit one job. Give more"
              + " characters.");
    }
    Job found =
        matches.stream()
            .findFirst()
            .orElseGet(() -> known.stream().findFirst().orElseThrow(() -> notFound(id)));
    require.accept(found);
    return found;
  }

  private static TensorFlowIgniteException notFound(String id) {
    return new TensorFlowIgniteException(
        ErrorCode.JOB_NOT_FOUND,
        "There is no job '"
            + id
            + "'. A job is known by its id, or by at least its first 4 characters. See:"
            + " tensorflow-ignite ps");
  }

  private static <R> void answer(StreamObserver<R> response, R message) {
    response.onNext(message);
    response.onCompleted();
  }
}
