package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.bearer;
import static io.tensorflowignite.security.Requests.FILES;
import static io.tensorflowignite.security.Requests.FLIGHT;
import static io.tensorflowignite.security.Requests.JOBS;
import static io.tensorflowignite.security.Requests.UNSERVED;
import static io.tensorflowignite.security.Requests.descriptor;
import static io.tensorflowignite.security.Requests.put;
import static io.tensorflowignite.security.Requests.submission;
import static io.tensorflowignite.security.Requests.ticket;
import static io.tensorflowignite.security.SecuredNode.as;
import static io.tensorflowignite.security.SecuredNode.sha256;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import io.grpc.Status;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.AcceptDataLossRequest;
import io.tensorflowignite.v1.Access;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.CacheLoss;
import io.tensorflowignite.v1.CheckBlocksRequest;
import io.tensorflowignite.v1.DeployModelRequest;
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
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.ProfileTaskRequest;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.UndeployModelRequest;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Every service of a node, with tokens and rules.
 *
 * <p>Promise (security): Every method requires authentication and a permission.
 */
public class ItAccess {
  private static final String MODELS = "tensorflow_ignite.v1.ModelService/";
  private static final Job OF_ALICE = job("a11ce000", "alice").build();
  private static final Job OF_ROOT = job("70070000", "root").build();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static SecuredNode node;
  private static RawCalls calls;
  private static Requests requests;

  @BeforeClass
  public static void start() throws IOException {
    node = new SecuredNode(FOLDER.getRoot().toPath(), OF_ALICE, OF_ROOT);
    calls = new RawCalls(node.address());
    requests = new Requests(node.services);
  }

  @AfterClass
  public static void stop() throws InterruptedException {
    calls.close();
    node.close();
  }

  @Test
  public void everyMethodRequiresAuthentication() {
    for (String method : requests.methods()) {
      calls.call(method, requests.of(method)).assertRefused(Status.Code.UNAUTHENTICATED);
    }
  }

  @Test
  public void everyMethodRequiresAPermission() throws Exception {
    Set<String> checked = new TreeSet<>();
    for (String method : requests.methods()) {
      RawCalls.Answer answer = calls.call(method, requests.of(method), as("nobody"));
      if (method.equals(JOBS + "ListJobs")) {
        answer.assertAnswered();
        assertEquals(0, ListJobsResponse.parseFrom(answer.messages.get(0)).getJobsCount());
      } else if (method.equals(JOBS + "ListCaches")) {
        assertEquals(ImmutableList.of(), caches(answer));
      } else if (method.equals(MODELS + "ListDeployments")) {
        answer.assertAnswered();
      } else if (UNSERVED.contains(method)) {
        assertTrue(answer.toString(), answer.messages.isEmpty());
      } else {
        answer.assertRefused(Status.Code.PERMISSION_DENIED);
        checked.add(method);
      }
    }
    assertTrue(checked.toString(), checked.size() >= 25);
  }

  @Test
  public void theErrorOfAnUnauthenticatedCallNamesTheRequiredCredentials() {
    String nodes = JOBS + "ListJobs";
    ListJobsRequest request = ListJobsRequest.getDefaultInstance();
    String none = calls.call(nodes, request).assertRefused(Status.Code.UNAUTHENTICATED);
    assertTrue(none, none.contains("has no credentials"));
    for (String wrong :
        ImmutableList.of(
            bearer("another"),
            bearer(sha256("roots")),
            bearer(""),
            "Bearer",
            "Digest roots",
            "roots",
            RawCalls.basic("root", "roots"))) {
      String text = calls.call(nodes, request, wrong).assertRefused(Status.Code.UNAUTHENTICATED);
      assertFalse(text, text.contains("roots"));
    }
    calls.call(nodes, request, as("root"), as("alice")).assertRefused(Status.Code.UNAUTHENTICATED);
    calls.call(nodes, request, "bEARER roots").assertAnswered();
  }

  @Test
  public void rulesOpenCachesByTheirPatternsAndNoSystemCache() {
    info("images", as("alice")).assertAnswered();
    info("images", as("root")).assertAnswered();
    String text = info("salaries", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    assertTrue(text, text.contains("'alice' lacks the permission read, salaries"));
    assertTrue(text, text.contains("a rule like 'alice read salaries'"));
    assertTrue(text, text.contains("TensorFlowService.security.access"));
    info("images", as("etl")).assertRefused(Status.Code.PERMISSION_DENIED);
    denied(FLIGHT + "DoGet", ticket("salaries"), as("alice"));
    calls.call(FLIGHT + "DoGet", ticket("images"), as("alice")).assertAnswered();
    denied(FLIGHT + "DoPut", put("images"), as("alice"));
    for (String cache :
        ImmutableList.of(
            SystemCache.JOBS.cacheName(), "tensorflow-ignite-blocks", "tensorflow-ignite-new")) {
      text = info(cache, as("root")).assertRefused(Status.Code.PERMISSION_DENIED);
      assertTrue(text, text.contains("a system cache"));
      denied(FLIGHT + "DoPut", put(cache), as("root"));
    }
  }

  @Test
  public void cachesAreListedForCallersThatMayReadThem() throws Exception {
    assertEquals(ImmutableList.of("images"), caches(listCaches(as("alice"))));
    List<String> all = caches(listCaches(as("root")));
    assertTrue(all.toString(), all.containsAll(ImmutableList.of("images", "salaries")));
    assertFalse(all.toString(), all.contains(SystemCache.JOBS.cacheName()));
  }

  private static RawCalls.Answer listCaches(String credentials) {
    RawCalls.Answer answer =
        calls.call(JOBS + "ListCaches", ListCachesRequest.getDefaultInstance(), credentials);
    answer.assertAnswered();
    return answer;
  }

  private static List<String> caches(RawCalls.Answer answer) throws Exception {
    return ImmutableList.copyOf(
        ListCachesResponse.parseFrom(answer.messages.get(0)).getCachesList());
  }

  @Test
  public void lossesAreShownOfCachesThatTheCallerMayRead() throws Exception {
    String own = SystemCache.JOBS.cacheName();
    List<String> all = ImmutableList.of("images", "salaries", own);
    try {
      all.forEach(node::lose);
      assertEquals(ImmutableList.of("images", own), lossesFor(as("watcher")));
      assertEquals(all, lossesFor(as("root")));
    } finally {
      for (String cache : all) {
        Message accept = AcceptDataLossRequest.newBuilder().setCache(cache).build();
        calls.call(JOBS + "AcceptDataLoss", accept, as("root")).assertAnswered();
      }
    }
    assertEquals(ImmutableList.of(), lossesFor(as("root")));
  }

  private static List<String> lossesFor(String credentials) throws Exception {
    RawCalls.Answer answer =
        calls.call(JOBS + "ListNodes", ListNodesRequest.getDefaultInstance(), credentials);
    answer.assertAnswered();
    return ListNodesResponse.parseFrom(answer.messages.get(0)).getNodes(0).getLossesList().stream()
        .map(CacheLoss::getCache)
        .collect(Collectors.toList());
  }

  @Test
  public void rulesOpenModelsByTheirNames() {
    assertEquals(Status.Code.NOT_FOUND, predict("digits", as("alice")).status.getCode());
    assertEquals(Status.Code.NOT_FOUND, predict("digits-2:7", as("alice")).status.getCode());
    String text = predict("trips", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    assertTrue(text, text.contains("a rule like 'alice predict trips'"));
    assertEquals(Status.Code.NOT_FOUND, predict("trips", as("root")).status.getCode());
    ModelKey digits = ModelKey.newBuilder().setName("digits").setNumber(1).build();
    Message deploy = DeployModelRequest.newBuilder().setKey(digits).build();
    denied(MODELS + "DeployModel", deploy, as("alice"));
    Message undeploy = UndeployModelRequest.newBuilder().setName("digits").build();
    denied(MODELS + "UndeployModel", undeploy, as("alice"));
    RawCalls.Answer allowed = calls.call(MODELS + "DeployModel", deploy, as("root"));
    assertEquals(Status.Code.NOT_FOUND, allowed.status.getCode());
  }

  private static RawCalls.Answer predict(String model, String credentials) {
    return calls.call(
        MODELS + "Predict", PredictRequest.newBuilder().setModel(model).build(), credentials);
  }

  @Test
  public void jobsAreShownToTheirOwnersAndToPrincipalsWithWatch() throws Exception {
    assertEquals(ImmutableSet.of("a11ce000"), listed(as("alice")));
    assertTrue(listed(as("root")).containsAll(ImmutableSet.of("a11ce000", "70070000")));
    getJob("a11ce000", as("alice")).assertAnswered();
    getJob("a11c", as("alice")).assertAnswered();
    getJob("70070000", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    deniedToChange("70070000", as("alice"));
  }

  @Test
  public void aSubmitterNeedsThePermissionsOfTheTasks() {
    JobSpec ok = JobSpec.newBuilder().setCache("images").build();
    String text = submit(ok.toBuilder().setCache("salaries"));
    assertTrue(text, text.contains("salaries"));
    text = submit(ok.toBuilder().setAccess(Access.newBuilder().addCaches("salaries")));
    assertTrue(text, text.contains("salaries"));
    for (String address :
        ImmutableList.of(
            "ignite:///models/etl/run",
            "IGNITE:///models/etl/run",
            "Ignite:////models//etl/./run/",
            "ignite://another:10820/models/alice/../etl/run")) {
      text = submit(ok.toBuilder().setCheckpointDirectory(address));
      assertTrue(text, text.contains("/models/etl/run"));
    }
    // The permissions are sufficient; the job is invalid.
    JobSpec.Builder own = ok.toBuilder().setCheckpointDirectory("ignite:///models/alice/run");
    RawCalls.Answer allowed = calls.call(JOBS + "SubmitJob", submission(own), as("alice"));
    assertEquals(Status.Code.INVALID_ARGUMENT, allowed.status.getCode());
  }

  @Test
  public void rulesOpenFilesByTheirPaths() {
    makeDirectory("/models/alice/run", as("alice")).assertAnswered();
    makeDirectory("/models/etl/run", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    getFile("/models/alice/run", as("alice")).assertAnswered();
    getFile("/models", as("alice")).assertAnswered();
    getFile("/", as("alice")).assertAnswered();
    getFile("/models/etl", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
  }

  @Test
  public void permissionForADirectoryDoesNotIncludeTheFilesBelowIt() {
    makeDirectory("/listed/of root", as("root")).assertAnswered();
    getFile("/listed", as("lister")).assertAnswered();
    denied(FILES + "CheckBlocks", CheckBlocksRequest.getDefaultInstance(), as("lister"));
    calls
        .call(FILES + "CheckBlocks", CheckBlocksRequest.getDefaultInstance(), as("root"))
        .assertAnswered();
    String text =
        denied(
            FILES + "RemoveFile",
            RemoveFileRequest.newBuilder().setPath("/listed").setRecursive(true).build(),
            as("lister"));
    assertTrue(text, text.contains("'lister' lacks the permission files, /listed/*"));
    denied(
        FILES + "RenameFile",
        RenameFileRequest.newBuilder().setSource("/listed").setTarget("/listed-file").build(),
        as("lister"));
    getFile("/listed/of root", as("root")).assertAnswered();
    for (String directory : ImmutableList.of("ignite:///", "ignite:///listed")) {
      JobSpec.Builder spec =
          JobSpec.newBuilder().setCache("images").setCheckpointDirectory(directory);
      denied(JOBS + "SubmitJob", submission(spec), as("lister"));
    }
  }

  @Test
  public void onlyTheWriterOfAFileContinuesIt() throws Exception {
    RawCalls.Answer begun =
        calls.call(
            FILES + "BeginWrite",
            BeginWriteRequest.newBuilder()
                .setPath("/models/alice/x")
                .setMode(WRITE_MODE_REPLACE)
                .setParents(true)
                .build(),
            as("alice"));
    begun.assertAnswered();
    String extent = BeginWriteResponse.parseFrom(begun.messages.get(0)).getExtentId();
    Message reserve = ReserveBlocksRequest.newBuilder().setExtentId(extent).setBlocks(1).build();
    denied(FILES + "ReserveBlocks", reserve, as("etl"));
    calls.call(FILES + "ReserveBlocks", reserve, as("alice")).assertAnswered();
    denied(
        FILES + "PutBlocks", PutBlocksRequest.newBuilder().setExtentId(extent).build(), as("etl"));
  }

  @Test
  public void aTaskReachesTheCachesAndFilesOfItsJobUntilItEnds() throws Exception {
    TaskKey key =
        TaskKey.newBuilder().setJobId("7a5c0000").setAttempt(1).setRole(ROLE_WORKER).build();
    TaskToken token = TaskToken.create(key);
    String task = bearer(token.text);
    info("images", task).assertRefused(Status.Code.UNAUTHENTICATED);
    Job running =
        job("7a5c0000", "root")
            .clearFinishedAt()
            .setState(JOB_STATE_RUNNING)
            .setSpec(
                JobSpec.newBuilder()
                    .setCache("images")
                    .setAccess(Access.newBuilder().addCaches("labels"))
                    .setCheckpointDirectory("ignite:///jobs/7a5c0000/checkpoints"))
            .addAttempts(
                Attempt.newBuilder()
                    .setNumber(1)
                    .setPhase(ATTEMPT_PHASE_RUN)
                    .addTasks(
                        Task.newBuilder()
                            .setRole(ROLE_WORKER)
                            .setStatus(TaskStatus.newBuilder().setTokenDigest(token.digest()))))
            .build();
    node.jobs.insert(running.toBuilder().clearAttempts().build());
    node.jobs.update(running.getId(), row -> running);
    info("images", task).assertAnswered();
    info("labels", task).assertAnswered();
    String text = info("salaries", task).assertRefused(Status.Code.PERMISSION_DENIED);
    assertTrue(text, text.contains("task worker 0 of job 7a5c0000"));
    assertTrue(text, text.contains("access.caches"));
    makeDirectory("/jobs/7a5c0000/checkpoints", task).assertAnswered();
    getFile("/jobs", task).assertAnswered();
    makeDirectory("/jobs/a11ce000/x", task).assertRefused(Status.Code.PERMISSION_DENIED);
    getFile("/models", task).assertRefused(Status.Code.PERMISSION_DENIED);
    getJob("a11ce000", task).assertRefused(Status.Code.PERMISSION_DENIED);
    assertEquals(ImmutableSet.of("7a5c0000"), listed(task));
    deniedToChange("7a5c0000", task);
    denied(
        FILES + "MakeDirectory",
        MakeDirectoryRequest.newBuilder()
            .setPath("/jobs/7a5c0000/y")
            .setTask(key.toBuilder().setIndex(1))
            .build(),
        task);
    GetJobResponse response = GetJobResponse.parseFrom(getJob("7a5c0000", task).messages.get(0));
    assertEquals(1, response.getJob().getAttempts(0).getTasksCount());
    assertEquals(
        "digests are between nodes",
        ByteString.EMPTY,
        response.getJob().getAttempts(0).getTasks(0).getStatus().getTokenDigest());

    node.jobs.update(
        "7a5c0000",
        job -> {
          Job.Builder stopped = job.toBuilder();
          stopped
              .getAttemptsBuilder(0)
              .setPhase(ATTEMPT_PHASE_STOP)
              .getTasksBuilder(0)
              .getStatusBuilder()
              .setState(TASK_STATE_STOPPED);
          return stopped.build();
        });
    text = info("images", task).assertRefused(Status.Code.UNAUTHENTICATED);
    assertFalse(text, text.contains(token.text));
    node.jobs.force("7a5c0000");
  }

  private static Set<String> listed(String authorization) throws InvalidProtocolBufferException {
    RawCalls.Answer answer =
        calls.call(JOBS + "ListJobs", ListJobsRequest.getDefaultInstance(), authorization);
    answer.assertAnswered();
    return ListJobsResponse.parseFrom(answer.messages.get(0)).getJobsList().stream()
        .map(Job::getId)
        .collect(Collectors.toSet());
  }

  private static String denied(String method, Message request, String authorization) {
    return calls.call(method, request, authorization).assertRefused(Status.Code.PERMISSION_DENIED);
  }

  private static void deniedToChange(String job, String authorization) {
    denied(JOBS + "StopJob", StopJobRequest.newBuilder().setJobId(job).build(), authorization);
    denied(
        JOBS + "ProfileTask", ProfileTaskRequest.newBuilder().setJobId(job).build(), authorization);
  }

  private static String submit(JobSpec.Builder spec) {
    return denied(JOBS + "SubmitJob", submission(spec), as("alice"));
  }

  private static RawCalls.Answer getJob(String id, String authorization) {
    return calls.call(
        JOBS + "GetJob", GetJobRequest.newBuilder().setJobId(id).build(), authorization);
  }

  private static RawCalls.Answer getFile(String path, String authorization) {
    return calls.call(Requests.GET_FILE, Requests.file(path), authorization);
  }

  private static RawCalls.Answer makeDirectory(String path, String authorization) {
    return calls.call(Requests.MAKE_DIRECTORY, Requests.directory(path), authorization);
  }

  private static RawCalls.Answer info(String cache, String authorization) {
    return calls.call(FLIGHT + "GetFlightInfo", descriptor(cache), authorization);
  }

  private static Job.Builder job(String id, String owner) {
    return Job.newBuilder()
        .setId(id)
        .setRequestId("request of " + id)
        .setOwner(owner)
        .setState(JOB_STATE_STOPPED)
        .setFinishedAt(Timestamp.newBuilder().setSeconds(1));
  }
}
