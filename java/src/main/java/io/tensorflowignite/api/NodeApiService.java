package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ATTEMPT_SUPERSEDED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_JOB_FINISHED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_JOB_NOT_FINISHED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_JOB_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_JOB_UNREADABLE;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_UNREADABLE;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.baseline.Baseline;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.schema.CacheNames;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.EpochAgreement;
import io.tensorflowignite.job.JobAdmission;
import io.tensorflowignite.job.JobFileStore;
import io.tensorflowignite.job.JobRemoval;
import io.tensorflowignite.job.ObservedJobs;
import io.tensorflowignite.job.OutputNews;
import io.tensorflowignite.job.ReportInbox;
import io.tensorflowignite.job.TaskProfiles;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.job.decide.Members;
import io.tensorflowignite.job.decide.QuorumRule;
import io.tensorflowignite.job.decide.RetentionPolicy;
import io.tensorflowignite.lease.Departures;
import io.tensorflowignite.rpc.StreamCallThread;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.security.TaskTokens;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.storage.tree.FilePath;
import io.tensorflowignite.table.JobHistory;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobSummary;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.NodeDrain;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.AcceptDataLossRequest;
import io.tensorflowignite.v1.AcceptDataLossResponse;
import io.tensorflowignite.v1.AcceptQuorumRequest;
import io.tensorflowignite.v1.AcceptQuorumResponse;
import io.tensorflowignite.v1.Access;
import io.tensorflowignite.v1.AgreeOnRowsRequest;
import io.tensorflowignite.v1.AgreeOnRowsResponse;
import io.tensorflowignite.v1.BaselineState;
import io.tensorflowignite.v1.CacheLoss;
import io.tensorflowignite.v1.ChangeBaselineRequest;
import io.tensorflowignite.v1.ChangeBaselineResponse;
import io.tensorflowignite.v1.DrainNodeRequest;
import io.tensorflowignite.v1.DrainNodeResponse;
import io.tensorflowignite.v1.EndedAttempt;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.GetBaselineRequest;
import io.tensorflowignite.v1.GetBaselineResponse;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.GetJobResponse;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListCachesRequest;
import io.tensorflowignite.v1.ListCachesResponse;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListJobsResponse;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.ListNodesResponse;
import io.tensorflowignite.v1.LostNode;
import io.tensorflowignite.v1.MissingNode;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Prediction;
import io.tensorflowignite.v1.ProfileTaskRequest;
import io.tensorflowignite.v1.ProfileTaskResponse;
import io.tensorflowignite.v1.RemoveJobRequest;
import io.tensorflowignite.v1.RemoveJobResponse;
import io.tensorflowignite.v1.ReportTerminationRequest;
import io.tensorflowignite.v1.ReportTerminationResponse;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.StopJobResponse;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.StreamLogsResponse;
import io.tensorflowignite.v1.SubmitJobRequest;
import io.tensorflowignite.v1.SubmitJobResponse;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskProfile;
import io.tensorflowignite.v1.UploadCodeRequest;
import io.tensorflowignite.v1.UploadCodeResponse;
import io.tensorflowignite.v1.WatchJobRequest;
import io.tensorflowignite.v1.WatchJobResponse;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;

/** The node API over the system caches. All nodes answer alike. */
public final class NodeApiService extends NodeApiServiceGrpc.NodeApiServiceImplBase {
  private static final int MIN_PREFIX = 4;

  /** Limit for the earlier attempts in an answer; an answer may have 64 MiB. */
  private static final long MAX_HISTORY_BYTES = 16 << 20;

  private static final int MAX_EVENTS = 500;

  /** Limit for each message of WatchJob, which sends one a second while the job progresses. */
  private static final int MAX_WATCHED_ATTEMPTS = 20;

  private final Ignite ignite;
  private final RateLimitedLog log;
  private final JobTable jobs;
  private final JobIndex index;
  private final JobHistory history;
  private final ObservedJobs observed;
  private final JobAdmission admission;
  private final TaskTokens tokens;
  private final ReportInbox inbox;
  private final NodeTable nodes;
  private final CodeStore code;
  private final LogTable logs;
  private final JobChangeBus changes;
  private final OutputNews news;
  private final JobValidator validator;
  private final JobRemoval removal;
  private final JobFileStore files;
  private final RetentionPolicy retention;
  private final long codeLimitBytes;
  private final Guard guard;
  private final AtomicInteger followers = new AtomicInteger();
  private final CodeUploads uploads = new CodeUploads(System::nanoTime);
  private final String nodeId;
  private final Loops loops;
  private final CacheLosses losses;
  private final EpochAgreement agreement;
  private final Departures departures;

  /**
   * @param encrypted whether some connections of the cluster are encrypted
   */
  public NodeApiService(
      Ignite ignite,
      ClusterSettings settings,
      JobTable jobs,
      JobIndex index,
      ObservedJobs observed,
      JobAdmission admission,
      NodeTable nodes,
      JobChangeBus changes,
      OutputNews news,
      JobRemoval removal,
      JobFileStore files,
      CacheLosses losses,
      Guard guard,
      boolean encrypted) {
    this.ignite = ignite;
    this.guard = guard;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.loops = Loops.of(ignite);
    this.agreement = new EpochAgreement(ignite);
    this.losses = losses;
    this.departures = Departures.of(ignite);
    this.log = new RateLimitedLog(ignite.log().getLogger(NodeApiService.class));
    this.jobs = jobs;
    this.index = index;
    this.history = new JobHistory(ignite);
    this.observed = observed;
    this.admission = admission;
    this.tokens = new TaskTokens(jobs);
    this.inbox = ReportInbox.of(ignite);
    this.nodes = nodes;
    this.code = new CodeStore(files);
    this.logs = new LogTable(ignite);
    this.changes = changes;
    this.news = news;
    this.validator = new JobValidator(ignite, nodes, code, losses, encrypted);
    this.removal = removal;
    this.files = files;
    this.retention = new RetentionPolicy(settings.jobRetention);
    this.codeLimitBytes = settings.codeLimitBytes;
  }

  @Override
  public StreamObserver<UploadCodeRequest> uploadCode(StreamObserver<UploadCodeResponse> response) {
    guard.submit();
    return new CodeUpload(
        code, codeLimitBytes, uploads, (ServerCallStreamObserver<UploadCodeResponse>) response);
  }

  @Override
  public void submitJob(SubmitJobRequest request, StreamObserver<SubmitJobResponse> response) {
    guard.submit();
    JobSpec spec = withCacheNames(withCanonicalAddress(request.getSpec()));
    requirePermissions(spec);
    requireRequestId(request);
    Job job =
        jobs.get(jobId(request))
            .filter(known -> known.getRequestId().equals(request.getRequestId()))
            .orElse(null);
    if (job != null) {
      guard.watch(job);
    } else {
      validator.validate(spec);
      job = insert(request.toBuilder().setSpec(spec).build());
    }
    answer(response, SubmitJobResponse.newBuilder().setJob(publicView(job)).build());
  }

  /** The specification with a canonical path, for all rules and for TensorFlow in the tasks. */
  private static JobSpec withCanonicalAddress(JobSpec spec) {
    return spec.toBuilder()
        .setCheckpointDirectory(JobPaths.canonical(spec.getCheckpointDirectory()))
        .build();
  }

  /**
   * The specification, with each name of an SQL table replaced by the name of the table's cache.
   */
  private JobSpec withCacheNames(JobSpec spec) {
    JobSpec.Builder named = spec.toBuilder().setCache(CacheNames.resolve(ignite, spec.getCache()));
    Access.Builder access = spec.getAccess().toBuilder().clearCaches();
    spec.getAccess()
        .getCachesList()
        .forEach(cache -> access.addCaches(CacheNames.resolve(ignite, cache)));
    named.setAccess(access);
    if (!spec.getEvaluator().getCache().isEmpty()) {
      named
          .getEvaluatorBuilder()
          .setCache(CacheNames.resolve(ignite, spec.getEvaluator().getCache()));
    }
    return named.build();
  }

  /** Requires the caller's permission for the caches and files that the job's tasks will use. */
  private void requirePermissions(JobSpec spec) {
    guard.readCache(spec.getCache());
    spec.getAccess().getCachesList().forEach(guard::readCache);
    if (!spec.getEvaluator().getCache().isEmpty()) {
      guard.readCache(spec.getEvaluator().getCache());
    }
    Prediction prediction = spec.getPrediction();
    if (!prediction.getOutputCache().isEmpty()) {
      boolean exists = ignite.cacheNames().contains(prediction.getOutputCache());
      guard.writeCache(prediction.getOutputCache(), !exists, false);
    }
    JobPaths.path(prediction.getModelDirectory())
        .ifPresent(path -> guard.readTree(FilePath.parse(path).toString()));
    Stream.concat(
            Stream.of(spec.getCheckpointDirectory()),
            spec.getAccess().getDirectoriesList().stream())
        .flatMap(address -> JobPaths.path(address).stream())
        .forEach(
            path -> guard.writeTree(FilePath.parse(path).toString(), TaskKey.getDefaultInstance()));
  }

  /** The job as its service observes it, with its earlier attempts. */
  private Job view(Job job) {
    return publicView(withHistory(now(job), Integer.MAX_VALUE));
  }

  /** The job as its service observes it, or as it waits in the queue. */
  private Job now(Job row) {
    return inQueue(observed.of(row).orElse(row), queue(List.of(row)));
  }

  /** The queue; empty if none of the jobs may wait in it. */
  private Map<String, JobQueue.Entry> queue(Collection<Job> asked) {
    return asked.stream().anyMatch(JobQueue::mayWait) ? admission.queue(index.current()) : Map.of();
  }

  private static Job inQueue(Job job, Map<String, JobQueue.Entry> queue) {
    JobQueue.Entry entry = queue.get(job.getId());
    return entry == null || entry.isAdmitted()
        ? job
        : job.toBuilder().setQueuePosition(entry.position).setWaitingFor(entry.reason).build();
  }

  /** Adds the newest earlier attempts with their events, up to the limits of an answer. */
  private Job withHistory(Job job, int count) {
    Job.Builder all = job.toBuilder().clearAttempts().clearEvents();
    for (EndedAttempt before : history.before(job, MAX_HISTORY_BYTES, count)) {
      all.addAttempts(before.getAttempt()).addAllEvents(before.getEventsList());
    }
    all.addAllAttempts(job.getAttemptsList()).addAllEvents(job.getEventsList());
    List<Event> events = all.getEventsList();
    if (events.size() > MAX_EVENTS) {
      List<Event> newest = List.copyOf(events.subList(events.size() - MAX_EVENTS, events.size()));
      all.clearEvents().addAllEvents(newest);
    }
    if (all.getAttemptsCount() > 0) {
      all.setEarlierAttempts(all.getAttempts(0).getNumber() - 1);
    }
    return all.build();
  }

  /** The job in the form for clients: without secrets, and with the time of its removal. */
  private Job publicView(Job job) {
    Job view = SecretRedaction.of(retention.withExpiry(job));
    return KnownValues.isOfLaterVersion(job)
        ? view.toBuilder()
            .setWaitingFor(
                "a node of a later version, which knows the values of its row; node "
                    + MessageText.shortId(nodeId)
                    + " does not")
            .build()
        : view;
  }

  private static void requireRequestId(SubmitJobRequest request) {
    if (request.getRequestId().isEmpty()) {
      throw invalidRequest(
          "The submission has no request_id. Each submission has its own, so that a"
              + " repeated submission makes no second job. Set request_id to a new UUID.");
    }
  }

  /** An id computed from the request, so that the same call to two nodes makes one job. */
  private static String jobId(SubmitJobRequest request) {
    return MessageText.shortId(
        UUID.nameUUIDFromBytes(request.getRequestIdBytes().toByteArray()).toString());
  }

  private Job insert(SubmitJobRequest request) {
    String id = jobId(request);
    JobSpec.Builder spec = request.getSpec().toBuilder();
    if (spec.getCheckpointDirectory().isEmpty()) {
      spec.setCheckpointDirectory(JobPaths.checkpoints(id));
    }
    Job.Builder row =
        Job.newBuilder()
            .setId(id)
            .setRequestId(request.getRequestId())
            .setSpec(spec)
            .setOwner(guard.owner())
            .setState(JOB_STATE_PENDING)
            .setCreatedAt(Timestamps.fromMillis(System.currentTimeMillis()));
    Members.set(row, nodes.live());
    Job job = row.build();
    if (jobs.insert(job)) {
      return job;
    }
    return jobs.get(job.getId())
        .filter(known -> known.getRequestId().equals(request.getRequestId()))
        .orElseThrow(
            () ->
                invalidRequest(
                    "The job id %s is used by another job. Ids are computed from the request_id."
                        + " Submit again with another request_id.",
                    job.getId()));
  }

  @Override
  public void getJob(GetJobRequest request, StreamObserver<GetJobResponse> response) {
    Job job = view(find(request.getJobId(), guard::mayWatch, guard::watch));
    answer(response, GetJobResponse.newBuilder().setJob(job).build());
  }

  @Override
  public void listJobs(ListJobsRequest request, StreamObserver<ListJobsResponse> response) {
    JobPages pages = JobPages.of(request, guard.watchable(index.all()));
    Map<String, Job> running = observed.summaries(pages.jobs());
    Map<String, JobQueue.Entry> queue = queue(pages.jobs());
    List<Job> page =
        pages.jobs().stream()
            .map(job -> inQueue(running.getOrDefault(job.getId(), job), queue))
            .map(job -> publicView(isReadable(job) ? JobSummary.of(job) : job))
            .collect(Collectors.toList());
    answer(
        response,
        ListJobsResponse.newBuilder().addAllJobs(page).setNextPageToken(pages.next()).build());
  }

  @Override
  public void stopJob(StopJobRequest request, StreamObserver<StopJobResponse> response) {
    Job found = find(request.getJobId(), guard::mayStop, guard::stop);
    requireReadable(found);
    Job stopped =
        jobs.update(found.getId(), job -> job.hasFinishedAt() ? job : requestStop(job, request))
            .or(() -> jobs.get(found.getId()))
            .orElseThrow(() -> notFound(found.getId()));
    if (!found.getStopRequested()) {
      requireUnfinished(stopped, "be stopped");
    }
    answer(response, StopJobResponse.newBuilder().setJob(view(stopped)).build());
  }

  /**
   * Adds the request to earlier ones. A later stop without force does not undo force. A later stop
   * without save ends the save of a job, and a later stop with save does not undo that.
   */
  private static Job requestStop(Job job, StopJobRequest request) {
    return job.toBuilder()
        .setStopRequested(true)
        .setForceStopRequested(request.getForce() || job.getForceStopRequested())
        .setSaveRequested(request.getSave() && (!job.getStopRequested() || job.getSaveRequested()))
        .build();
  }

  private static void requireUnfinished(Job job, String act) {
    if (job.hasFinishedAt()) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_JOB_FINISHED,
          "Job %1$s is over (%2$s). Only an unfinished job can %3$s. See: tensorflow-ignite"
              + " describe %1$s",
          job.getId(),
          MessageText.state(job.getState()),
          act);
    }
  }

  @Override
  public void acceptQuorum(
      AcceptQuorumRequest request, StreamObserver<AcceptQuorumResponse> response) {
    Job found = find(request.getJobId(), guard::mayStop, guard::stop);
    requireReadable(found);
    requireUnfinished(found, "have a quorum");
    List<Node> live = nodes.live();
    List<Node> missing = QuorumRule.missing(found, Members.consistentIds(live));
    Timestamp now = Timestamps.fromMillis(System.currentTimeMillis());
    Job accepted =
        jobs.update(found.getId(), job -> Members.accept(job, live, guard.owner(), now))
            .or(() -> jobs.get(found.getId()))
            .orElseThrow(() -> notFound(found.getId()));
    answer(
        response,
        AcceptQuorumResponse.newBuilder().setJob(view(accepted)).addAllMissing(missing).build());
  }

  @Override
  public void profileTask(
      ProfileTaskRequest request, StreamObserver<ProfileTaskResponse> response) {
    Job found = find(request.getJobId(), guard::mayStop, guard::stop);
    requireReadable(found);
    requireUnfinished(found, "have a profile");
    TaskProfile profile = TaskProfiles.send(ignite, now(found), request);
    answer(
        response,
        ProfileTaskResponse.newBuilder()
            .setProfileId(profile.getProfileId())
            .setDirectory(profile.getDirectory())
            .setName(profile.getName())
            .build());
  }

  @Override
  public void drainNode(DrainNodeRequest request, StreamObserver<DrainNodeResponse> response) {
    guard.drain();
    Node node = NodeDrain.set(nodes, request);
    answer(response, DrainNodeResponse.newBuilder().setNode(node).build());
  }

  @Override
  public void getBaseline(
      GetBaselineRequest request, StreamObserver<GetBaselineResponse> response) {
    guard.nodes();
    answer(response, GetBaselineResponse.newBuilder().setBaseline(baseline()).build());
  }

  @Override
  public void changeBaseline(
      ChangeBaselineRequest request, StreamObserver<ChangeBaselineResponse> response) {
    guard.changeBaseline();
    Baseline.change(ignite, request);
    log.warning(
        String.format(
            "The baseline was changed [caller=%s, added=%s, online=%s, removed=%s, force=%s]",
            guard.owner(),
            request.getAddList(),
            request.getAddOnline(),
            request.getRemoveList(),
            request.getForce()));
    answer(response, ChangeBaselineResponse.newBuilder().setBaseline(baseline()).build());
  }

  private BaselineState baseline() {
    return Baseline.state(
        ignite,
        nodes.live().stream()
            .collect(Collectors.toMap(Node::getConsistentId, Node::getAddress, (one, two) -> two)));
  }

  @Override
  public void removeJob(RemoveJobRequest request, StreamObserver<RemoveJobResponse> response) {
    Job job = find(request.getJobId(), guard::mayStop, guard::stop);
    boolean forced = request.getForce() && !KnownValues.areAll(job);
    if (!forced) {
      requireFinished(job);
    }
    requireUnused(job);
    if (forced) {
      removal.force(job.getId());
    } else {
      removal.remove(job);
    }
    answer(response, RemoveJobResponse.newBuilder().setJob(publicView(job)).build());
  }

  private void requireFinished(Job job) {
    requireReadable(job);
    if (KnownValues.isOfLaterVersion(job)) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_JOB_UNREADABLE,
          "Job %1$s is not removed: a node of a later version has written its row, with values that"
              + " node %2$s does not know. The job belongs to the nodes of that version. Remove it"
              + " through one of them, or in any case: tensorflow-ignite rm --force %1$s",
          job.getId(),
          MessageText.shortId(nodeId));
    }
    if (!job.hasFinishedAt()) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_JOB_NOT_FINISHED,
          "Job %1$s is not removed: it is %2$s. Only a finished job can be removed. Stop it first:"
              + " tensorflow-ignite stop %1$s",
          job.getId(),
          MessageText.state(job.getState()));
    }
  }

  private void requireUnused(Job job) {
    RetentionPolicy.userOf(job, index.current())
        .ifPresent(
            user -> {
              throw TensorFlowIgniteException.of(
                  ERROR_CODE_JOB_NOT_FINISHED,
                  "Job %s is not removed: job %2$s keeps its checkpoints in %3$s, and is not over."
                      + " A job's files stay while another job needs them. Wait for the end of that"
                      + " job, or stop it: tensorflow-ignite stop %2$s",
                  job.getId(),
                  user.getId(),
                  user.getSpec().getCheckpointDirectory());
            });
  }

  @Override
  public void watchJob(WatchJobRequest request, StreamObserver<WatchJobResponse> response) {
    String id = find(request.getJobId(), guard::mayWatch, guard::watch).getId();
    StreamCallThread.serve(
        (ServerCallStreamObserver<?>) response, log, flow -> sendChanges(id, response, flow));
  }

  private void sendChanges(
      String id, StreamObserver<WatchJobResponse> response, StreamCallThread flow)
      throws IOException, InterruptedException {
    try (JobChangeBus.Subscription subscription = changes.subscribe(id, flow::wake)) {
      // A hash instead of the job: a thousand watchers would keep a megabyte each.
      HashCode last = null;
      while (flow.awaitReady()) {
        HashCode before = last;
        last = flow.inTurn(() -> sendIfChanged(id, before, response));
        if (last == null) {
          response.onCompleted();
          return;
        }
        flow.awaitChange();
      }
    }
  }

  /** Sends a job if it differs from the last one; returns its hash, or null if it is finished. */
  private HashCode sendIfChanged(
      String id, HashCode last, StreamObserver<WatchJobResponse> response) {
    Job row = jobs.get(id).orElseThrow(() -> notFound(id));
    requireReadable(row);
    Job job = now(row);
    HashCode now = Hashing.sha256().hashBytes(job.toByteArray());
    if (!now.equals(last)) {
      Job sent = publicView(withHistory(job, MAX_WATCHED_ATTEMPTS));
      response.onNext(WatchJobResponse.newBuilder().setJob(sent).build());
    }
    return job.hasFinishedAt() ? null : now;
  }

  @Override
  public void streamLogs(StreamLogsRequest request, StreamObserver<StreamLogsResponse> response) {
    ServerCallStreamObserver<StreamLogsResponse> call =
        (ServerCallStreamObserver<StreamLogsResponse>) response;
    Job job = find(request.getJobId(), guard::mayWatch, guard::watch);
    requireReadable(job);
    String id = job.getId();
    StreamCallThread.serve(
        call,
        log,
        flow ->
            new LogStream(jobs, history, logs, files, id, request, call, flow, followers)
                .send(changes, news));
  }

  @Override
  public void listNodes(ListNodesRequest request, StreamObserver<ListNodesResponse> response) {
    guard.nodes();
    List<Node> live = nodes.live();
    List<CacheLoss> lost = visibleLosses();
    List<LostNode> lostNodes = departures.lost();
    List<MissingNode> missing = Baseline.missing(ignite);
    Set<String> outside = Baseline.outside(ignite);
    Map<String, Integer> tasks = index.tasksByNode();
    live.replaceAll(
        node ->
            withLoops(node).toBuilder()
                .setTasks(tasks.getOrDefault(node.getId(), 0))
                .addAllLosses(lost)
                .addAllLostNodes(lostNodes)
                .addAllMissingNodes(missing)
                .setIsOutsideBaseline(outside.contains(node.getConsistentId()))
                .build());
    answer(response, ListNodesResponse.newBuilder().addAllNodes(live).build());
  }

  /** The losses of the service's own caches, and of those that the caller may read. */
  private List<CacheLoss> visibleLosses() {
    List<CacheLoss> known = losses.list();
    List<String> ofUsers =
        known.stream()
            .filter(loss -> !loss.getIsOfService())
            .map(CacheLoss::getCache)
            .collect(Collectors.toList());
    Set<String> readable = Set.copyOf(guard.readable(ofUsers));
    return known.stream()
        .filter(loss -> loss.getIsOfService() || readable.contains(loss.getCache()))
        .collect(Collectors.toList());
  }

  @Override
  public void listCaches(ListCachesRequest request, StreamObserver<ListCachesResponse> response) {
    List<String> caches = guard.readable(SystemCache.userCaches(ignite));
    answer(response, ListCachesResponse.newBuilder().addAllCaches(caches).build());
  }

  /** Replaces the loops in this node's row, since the loop that writes the row may be silent. */
  private Node withLoops(Node node) {
    return node.getId().equals(nodeId)
        ? node.toBuilder().clearLoops().addAllLoops(loops.faults()).build()
        : node;
  }

  private static boolean isReadable(Job job) {
    return job.getState() != JOB_STATE_UNREADABLE;
  }

  @Override
  public void reportTermination(
      ReportTerminationRequest request, StreamObserver<ReportTerminationResponse> response) {
    guard.proveEnd(TaskTokens.jobOf(request.getToken()));
    NodeReport proof =
        tokens
            .proofOfEnd(request.getToken())
            .orElseThrow(
                () ->
                    new TensorFlowIgniteException(
                        ERROR_CODE_ATTEMPT_SUPERSEDED,
                        "The end of an attempt was not taken: the token is of no task of the newest"
                            + " attempt of a job that is not over. An agent proves the end of such"
                            + " an attempt after its node was killed. End this process."));
    log.warning(
        "An agent has proved the end of an attempt whose node was killed [" + text(proof) + "]");
    inbox.forward(proof, jobs.row(proof.getJobId()).map(Job::getServiceNodeId).orElse(""));
    answer(response, ReportTerminationResponse.getDefaultInstance());
  }

  @Override
  public void agreeOnRows(
      AgreeOnRowsRequest request, StreamObserver<AgreeOnRowsResponse> response) {
    guard.agree(EpochAgreement.task(request));
    answer(
        response,
        AgreeOnRowsResponse.newBuilder()
            .addAllRows(agreement.add(request).orElse(List.of()))
            .build());
  }

  private static String text(NodeReport proof) {
    return String.format(
        "job=%s, attempt=%d, node=%s",
        proof.getJobId(), proof.getAttempt(), MessageText.shortId(proof.getNodeId()));
  }

  private static void requireReadable(Job job) {
    if (!isReadable(job)) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_JOB_UNREADABLE,
          "Job %1$s cannot be used: %2$s. Nothing of the job is started, and its tasks are"
              + " stopped. Remove it with its output and files: tensorflow-ignite rm --force %1$s",
          job.getId(),
          job.getCause());
    }
  }

  @Override
  public void acceptDataLoss(
      AcceptDataLossRequest request, StreamObserver<AcceptDataLossResponse> response) {
    String cache = CacheNames.resolve(ignite, request.getCache());
    for (String accepted : losses.acceptedWith(cache)) {
      if (SystemCache.isSystem(ignite, accepted)) {
        // A system cache holds jobs and files of all users.
        guard.writeTree("/", TaskKey.getDefaultInstance());
      } else {
        guard.writeCache(accepted, false, false);
      }
    }
    SortedSet<Integer> lost = losses.accept(cache, guard.owner());
    answer(response, AcceptDataLossResponse.newBuilder().addAllPartitions(lost).build());
  }

  /**
   * Finds a job by its id, or by a prefix of its id that fits one permitted job.
   *
   * @param may whether the caller has permission for a job
   * @param require throws if the caller lacks the permission for the found job
   */
  private Job find(String id, Predicate<Job> may, Consumer<Job> require) {
    List<Job> known = jobs.get(id).map(List::of).orElseGet(() -> withPrefix(id));
    List<Job> matches = known.stream().filter(may).collect(Collectors.toList());
    if (matches.size() > 1) {
      throw invalidRequest(
          "'%s' is the beginning of %d job ids. A prefix of at least %d characters must fit one"
              + " job. Use a longer prefix.",
          id, matches.size(), MIN_PREFIX);
    }
    Job found =
        matches.stream()
            .findFirst()
            .orElseGet(() -> known.stream().findFirst().orElseThrow(() -> notFound(id)));
    require.accept(found);
    return found;
  }

  private List<Job> withPrefix(String prefix) {
    return prefix.length() < MIN_PREFIX
        ? List.of()
        : index.all().stream()
            .map(Job::getId)
            .filter(id -> id.startsWith(prefix))
            .distinct()
            .flatMap(id -> jobs.get(id).stream())
            .collect(Collectors.toList());
  }

  private TensorFlowIgniteException notFound(String id) {
    boolean lost = !losses.permanent(SystemCache.JOBS.cacheName()).isEmpty();
    return TensorFlowIgniteException.of(
        ERROR_CODE_JOB_NOT_FOUND,
        "There is no job '%s'.%s A job is named by its id, or by at least its first %d characters."
            + " See: tensorflow-ignite ps",
        id,
        lost
            ? " Rows of the job table were lost when nodes left (see: tensorflow-ignite nodes), so"
                + " it may have existed."
            : "",
        MIN_PREFIX);
  }

  private static <R> void answer(StreamObserver<R> response, R message) {
    response.onNext(message);
    response.onCompleted();
  }
}
