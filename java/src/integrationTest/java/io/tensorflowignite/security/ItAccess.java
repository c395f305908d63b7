package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.bearer;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.hash.Hashing;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.tensorflowignite.BatchLimits;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.api.ApiServer;
import io.tensorflowignite.api.JobChanges;
import io.tensorflowignite.api.NodeApiService;
import io.tensorflowignite.data.DataEndpoint;
import io.tensorflowignite.data.NodeDirectory;
import io.tensorflowignite.job.JobRemoval;
import io.tensorflowignite.job.JobStore;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.storage.BlockMemoryEndpoint;
import io.tensorflowignite.storage.FileEndpoint;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageSettings;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.CheckBlocksRequest;
import io.tensorflowignite.v1.GetFileRequest;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.GetJobResponse;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListJobsResponse;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.OpenShared;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.SharedRequest;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.SubmitJobRequest;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.WriteMode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.arrow.flight.impl.Flight;
import org.apache.arrow.vector.ipc.message.IpcOption;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Every service of a node behind tokens and rules. */
public class ItAccess {
  private static final String FLIGHT = "arrow.flight.protocol.FlightService/";
  private static final String JOBS = "tensorflow_ignite.v1.NodeApi/";
  private static final String FILES = "tensorflow_ignite.v1.FileService/";

  /** What Flight has and this server has not. */
  private static final Set<String> UNSERVED =
      ImmutableSet.of(
          FLIGHT + "Handshake",
          FLIGHT + "ListFlights",
          FLIGHT + "PollFlightInfo",
          FLIGHT + "DoAction",
          FLIGHT + "ListActions",
          FLIGHT + "DoExchange");

  private static final Map<String, String> TOKENS =
      ImmutableMap.<String, String>builder()
          .put("alice", "alices-secret")
          .put("etl", "secret-of-etl")
          .put("nobody", "secret")
          .put("lister", "secret-of-lister")
          .put("root", "roots")
          .build();

  private static final Job OF_ALICE = job("a11ce000", "alice").build();
  private static final Job OF_ROOT = job("70070000", "root").build();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static Ignite node;
  private static Storage storage;
  private static DataEndpoint data;
  private static ApiServer server;
  private static RawCalls calls;
  private static JobTable jobs;
  private static List<ServerServiceDefinition> services;

  @BeforeClass
  public static void start() throws IOException {
    node =
        Ignition.start(new LoopbackNodes(1).configuration("security", FOLDER.getRoot().toPath()));
    for (String cache : ImmutableList.of("images", "labels", "salaries")) {
      node.<Integer, Integer>getOrCreateCache(cache).put(1, 1);
    }
    storage =
        new Storage(
            node, new StorageSettings("tensorflow-ignite", 0, null, 4096, Duration.ofMinutes(2)));
    jobs = new JobTable(node);
    jobs.insert(OF_ALICE);
    jobs.insert(OF_ROOT);
    NodeTable nodes = new NodeTable(node);
    JobStore files = new JobStore(storage);
    SecuritySettings settings = new SecuritySettings();
    settings.tokens(
        TOKENS.entrySet().stream()
            .collect(Collectors.toMap(Map.Entry::getKey, entry -> sha256(entry.getValue()))));
    settings.access(
        ImmutableList.of(
            "alice submit",
            "alice read images",
            "alice files /models/alice/*",
            "etl read,write raw_*",
            "etl files /models/etl/*",
            "nobody read nothing",
            "lister submit",
            "lister read images",
            "lister files /",
            "lister files /listed",
            "lister files /listed-file",
            "root all"));
    IgniteSecurityAccess users = new IgniteSecurityAccess(node);
    Authentication authentication =
        new Authentication(
            Policy.of(settings, users.knowsUsers(), false),
            settings,
            users,
            new TaskTokens(jobs, new ReportTable(node)),
            peer -> true,
            node.log());
    Guard guard =
        Guard.of(
            Access.of(settings.access()),
            cache -> SystemCache.isSystem(node, cache),
            "tensorflow-ignite-files");
    data = new DataEndpoint(node, directory(), BatchLimits.DEFAULT, guard);
    BindableService[] all = {
      new NodeApiService(
          node,
          new TensorFlowService().settings(),
          jobs,
          nodes,
          new JobChanges(),
          new JobRemoval(node, jobs, files),
          files,
          guard,
          false),
      new FileEndpoint(node, storage, nodes, guard),
      BlockMemoryEndpoint.of(storage.memories(), guard),
      data.service(),
      data.sharedMemory()
    };
    services = new ArrayList<>();
    for (BindableService service : all) {
      services.add(service.bindService());
    }
    server =
        ApiServer.start(
            "127.0.0.1",
            0,
            0,
            BatchLimits.DEFAULT,
            node.log(),
            NodeTls.off(),
            Collections.singletonList(authentication),
            all);
    calls = new RawCalls("127.0.0.1:" + server.port());
  }

  @AfterClass
  public static void stop() throws InterruptedException {
    calls.close();
    server.close();
    data.close();
    storage.close();
    node.close();
  }

  @Test
  public void everyMethodAsksWhoCalls() {
    for (String method : methods()) {
      calls.call(method, request(method)).assertRefused(Status.Code.UNAUTHENTICATED);
    }
  }

  @Test
  public void everyMethodAsksWhetherTheCallerMay() throws Exception {
    Set<String> asked = new TreeSet<>();
    for (String method : methods()) {
      RawCalls.Answer answer = calls.call(method, request(method), as("nobody"));
      if (method.equals(JOBS + "ListJobs")) {
        answer.assertAnswered();
        assertEquals(0, ListJobsResponse.parseFrom(answer.messages.get(0)).getJobsCount());
      } else if (UNSERVED.contains(method)) {
        assertTrue(answer.toString(), answer.messages.isEmpty());
      } else {
        answer.assertRefused(Status.Code.PERMISSION_DENIED);
        asked.add(method);
      }
    }
    assertTrue(asked.toString(), asked.size() >= 25);
  }

  @Test
  public void whoCannotShowWhoHeIsIsToldWhatIsAskedFor() {
    String nodes = JOBS + "ListJobs";
    ListJobsRequest request = ListJobsRequest.getDefaultInstance();
    String none = calls.call(nodes, request).assertRefused(Status.Code.UNAUTHENTICATED);
    assertTrue(none, none.contains("does not say who makes it"));
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
  public void rulesOpenCachesByTheirPatterns() {
    info("images", as("alice")).assertAnswered();
    info("images", as("root")).assertAnswered();
    String text = info("salaries", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    assertTrue(text, text.contains("'alice' lacks the permission read, salaries"));
    assertTrue(text, text.contains("a rule like 'alice read salaries'"));
    assertTrue(text, text.contains("TensorFlowService.access"));
    info("images", as("etl")).assertRefused(Status.Code.PERMISSION_DENIED);
    calls
        .call(FLIGHT + "DoGet", ticket("salaries"), as("alice"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
    calls.call(FLIGHT + "DoGet", ticket("images"), as("alice")).assertAnswered();
    calls
        .call(FLIGHT + "DoPut", put("images"), as("alice"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
  }

  @Test
  public void theServicesOwnCachesAreNobodys() {
    for (String cache :
        ImmutableList.of(
            SystemCache.JOBS.cacheName(), "tensorflow-ignite-blocks", "tensorflow-ignite-new")) {
      String text = info(cache, as("root")).assertRefused(Status.Code.PERMISSION_DENIED);
      assertTrue(text, text.contains("the service's own"));
      calls
          .call(FLIGHT + "DoPut", put(cache), as("root"))
          .assertRefused(Status.Code.PERMISSION_DENIED);
    }
  }

  @Test
  public void jobsAreShownToTheirOwnersAndToWhoMayWatch() throws Exception {
    assertEquals(ImmutableSet.of("a11ce000"), listed(as("alice")));
    assertTrue(listed(as("root")).containsAll(ImmutableSet.of("a11ce000", "70070000")));
    getJob("a11ce000", as("alice")).assertAnswered();
    getJob("a11c", as("alice")).assertAnswered();
    getJob("70070000", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    calls
        .call(
            JOBS + "StopJob", StopJobRequest.newBuilder().setJobId("70070000").build(), as("alice"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
  }

  @Test
  public void whoSubmitsMustBeAbleToReachWhatTheTasksWill() {
    JobSpec ok = JobSpec.newBuilder().setCache("images").build();
    String text = submit(ok.toBuilder().setCache("salaries"));
    assertTrue(text, text.contains("salaries"));
    text = submit(ok.toBuilder().addMoreCaches("salaries"));
    assertTrue(text, text.contains("salaries"));
    text = submit(ok.toBuilder().setCheckpointDirectory("ignite:///models/etl/run"));
    assertTrue(text, text.contains("/models/etl/run"));
    // Past the permissions, it is the job that is wrong.
    RawCalls.Answer allowed =
        calls.call(
            JOBS + "SubmitJob",
            SubmitJobRequest.newBuilder()
                .setRequestId("r")
                .setSpec(ok.toBuilder().setCheckpointDirectory("ignite:///models/alice/run"))
                .build(),
            as("alice"));
    assertEquals(Status.Code.INVALID_ARGUMENT, allowed.status.getCode());
  }

  @Test
  public void filesAreOpenByTheirPaths() throws Exception {
    makeDirectory("/models/alice/run", as("alice")).assertAnswered();
    makeDirectory("/models/etl/run", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
    getFile("/models/alice/run", as("alice")).assertAnswered();
    getFile("/models", as("alice")).assertAnswered();
    getFile("/", as("alice")).assertAnswered();
    getFile("/models/etl", as("alice")).assertRefused(Status.Code.PERMISSION_DENIED);
  }

  @Test
  public void whoMayUseADirectoryMayNotUseAllThatIsBelowIt() {
    makeDirectory("/listed/of root", as("root")).assertAnswered();
    getFile("/listed", as("lister")).assertAnswered();
    calls
        .call(FILES + "CheckBlocks", CheckBlocksRequest.getDefaultInstance(), as("lister"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
    calls
        .call(FILES + "CheckBlocks", CheckBlocksRequest.getDefaultInstance(), as("root"))
        .assertAnswered();
    String text =
        calls
            .call(
                FILES + "RemoveFile",
                RemoveFileRequest.newBuilder().setPath("/listed").setRecursive(true).build(),
                as("lister"))
            .assertRefused(Status.Code.PERMISSION_DENIED);
    assertTrue(text, text.contains("'lister' lacks the permission files, /listed/*"));
    calls
        .call(
            FILES + "RenameFile",
            RenameFileRequest.newBuilder().setSource("/listed").setTarget("/listed-file").build(),
            as("lister"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
    getFile("/listed/of root", as("root")).assertAnswered();
    for (String directory : ImmutableList.of("ignite:///", "ignite:///listed")) {
      calls
          .call(
              JOBS + "SubmitJob",
              SubmitJobRequest.newBuilder()
                  .setRequestId("r")
                  .setSpec(
                      JobSpec.newBuilder().setCache("images").setCheckpointDirectory(directory))
                  .build(),
              as("lister"))
          .assertRefused(Status.Code.PERMISSION_DENIED);
    }
  }

  @Test
  public void whatSomebodyWritesNobodyElseGoesOnWith() throws Exception {
    RawCalls.Answer begun =
        calls.call(
            FILES + "BeginWrite",
            BeginWriteRequest.newBuilder()
                .setPath("/models/alice/x")
                .setMode(WriteMode.REPLACE)
                .setParents(true)
                .build(),
            as("alice"));
    begun.assertAnswered();
    String extent = BeginWriteResponse.parseFrom(begun.messages.get(0)).getExtentId();
    Message reserve = ReserveBlocksRequest.newBuilder().setExtentId(extent).setBlocks(1).build();
    calls
        .call(FILES + "ReserveBlocks", reserve, as("etl"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
    calls.call(FILES + "ReserveBlocks", reserve, as("alice")).assertAnswered();
    calls
        .call(
            FILES + "PutBlocks",
            PutBlocksRequest.newBuilder().setExtentId(extent).build(),
            as("etl"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
  }

  @Test
  public void aTaskReachesWhatItsJobNamesUntilItHasEnded() throws Exception {
    TaskKey key =
        TaskKey.newBuilder().setJobId("7a5c0000").setAttempt(1).setRole(Role.WORKER).build();
    TaskToken token = TaskToken.make(key);
    String task = bearer(token.text());
    info("images", task).assertRefused(Status.Code.UNAUTHENTICATED);
    jobs.insert(
        job("7a5c0000", "root")
            .clearFinishedAt()
            .setState(JobState.RUNNING)
            .setSpec(
                JobSpec.newBuilder()
                    .setCache("images")
                    .addMoreCaches("labels")
                    .setCheckpointDirectory("ignite:///jobs/7a5c0000/checkpoints"))
            .addAttempts(
                Attempt.newBuilder()
                    .setNumber(1)
                    .setPhase(AttemptPhase.RUN)
                    .addTasks(
                        Task.newBuilder()
                            .setRole(Role.WORKER)
                            .setStatus(TaskStatus.newBuilder().setTokenDigest(token.digest()))))
            .build());
    info("images", task).assertAnswered();
    info("labels", task).assertAnswered();
    String text = info("salaries", task).assertRefused(Status.Code.PERMISSION_DENIED);
    assertTrue(text, text.contains("task worker 0 of job 7a5c0000"));
    assertTrue(text, text.contains("more_caches"));
    makeDirectory("/jobs/7a5c0000/checkpoints", task).assertAnswered();
    getFile("/jobs", task).assertAnswered();
    makeDirectory("/jobs/a11ce000/x", task).assertRefused(Status.Code.PERMISSION_DENIED);
    getFile("/models", task).assertRefused(Status.Code.PERMISSION_DENIED);
    getJob("a11ce000", task).assertRefused(Status.Code.PERMISSION_DENIED);
    assertEquals(ImmutableSet.of("7a5c0000"), listed(task));
    calls
        .call(JOBS + "StopJob", StopJobRequest.newBuilder().setJobId("7a5c0000").build(), task)
        .assertRefused(Status.Code.PERMISSION_DENIED);
    calls
        .call(
            FILES + "MakeDirectory",
            MakeDirectoryRequest.newBuilder()
                .setPath("/jobs/7a5c0000/y")
                .setTask(key.toBuilder().setIndex(1))
                .build(),
            task)
        .assertRefused(Status.Code.PERMISSION_DENIED);
    GetJobResponse told = GetJobResponse.parseFrom(getJob("7a5c0000", task).messages.get(0));
    assertEquals(1, told.getJob().getAttempts(0).getTasksCount());
    assertEquals(
        "digests are between nodes",
        ByteString.EMPTY,
        told.getJob().getAttempts(0).getTasks(0).getStatus().getTokenDigest());

    jobs.update(
        "7a5c0000",
        job -> {
          Job.Builder stopped = job.toBuilder();
          stopped
              .getAttemptsBuilder(0)
              .setPhase(AttemptPhase.STOP)
              .getTasksBuilder(0)
              .getStatusBuilder()
              .setState(TaskState.TASK_STOPPED);
          return stopped.build();
        });
    text = info("images", task).assertRefused(Status.Code.UNAUTHENTICATED);
    assertFalse(text, text.contains(token.text()));
    jobs.remove("7a5c0000");
  }

  private static Set<String> listed(String authorization) throws InvalidProtocolBufferException {
    RawCalls.Answer answer =
        calls.call(JOBS + "ListJobs", ListJobsRequest.getDefaultInstance(), authorization);
    answer.assertAnswered();
    return ListJobsResponse.parseFrom(answer.messages.get(0)).getJobsList().stream()
        .map(Job::getId)
        .collect(Collectors.toSet());
  }

  private static String submit(JobSpec.Builder spec) {
    return calls
        .call(
            JOBS + "SubmitJob",
            SubmitJobRequest.newBuilder().setRequestId("r").setSpec(spec).build(),
            as("alice"))
        .assertRefused(Status.Code.PERMISSION_DENIED);
  }

  private static RawCalls.Answer getJob(String id, String authorization) {
    return calls.call(
        JOBS + "GetJob", GetJobRequest.newBuilder().setJobId(id).build(), authorization);
  }

  private static RawCalls.Answer getFile(String path, String authorization) {
    return calls.call(
        FILES + "GetFile", GetFileRequest.newBuilder().setPath(path).build(), authorization);
  }

  private static RawCalls.Answer makeDirectory(String path, String authorization) {
    return calls.call(
        FILES + "MakeDirectory",
        MakeDirectoryRequest.newBuilder().setPath(path).setParents(true).setExistOk(true).build(),
        authorization);
  }

  private static RawCalls.Answer info(String cache, String authorization) {
    return calls.call(FLIGHT + "GetFlightInfo", descriptor(cache), authorization);
  }

  private static List<String> methods() {
    return services.stream()
        .flatMap(service -> service.getServiceDescriptor().getMethods().stream())
        .map(MethodDescriptor::getFullMethodName)
        .sorted()
        .collect(Collectors.toList());
  }

  /** What would be answered, had the caller the permission: it names what is there. */
  private static Message request(String method) {
    switch (method) {
      case FLIGHT + "GetFlightInfo":
      case FLIGHT + "GetSchema":
        return descriptor("images");
      case FLIGHT + "DoGet":
        return ticket("images");
      case FLIGHT + "DoPut":
        return put("images");
      case "tensorflow_ignite.v1.SharedMemory/Read":
        return SharedRequest.newBuilder()
            .setOpen(
                OpenShared.newBuilder()
                    .setCommand(ReadCommand.newBuilder().setCache("images"))
                    .setNonce(ByteString.copyFrom(new byte[16])))
            .build();
      case FILES + "ReadBlocks":
        return ReadBlocksRequest.newBuilder().setExtentId("0").build();
      default:
        return UNSERVED.contains(method) ? Flight.Empty.getDefaultInstance() : filled(method);
    }
  }

  private static Message filled(String method) {
    Message.Builder request = prototype(method).newBuilderForType();
    request
        .getDescriptorForType()
        .getFields()
        .forEach(
            field -> {
              Object value =
                  ImmutableMap.<String, Object>of(
                          "job_id", "70070000",
                          "path", "/secret",
                          "source", "/secret",
                          "target", "/other",
                          "extent_id", "0")
                      .get(field.getName());
              if (value != null) {
                request.setField(field, value);
              }
            });
    return request.build();
  }

  private static Message prototype(String method) {
    for (ServerServiceDefinition service : services) {
      if (service.getMethod(method) != null) {
        MethodDescriptor.Marshaller<?> marshaller =
            service.getMethod(method).getMethodDescriptor().getRequestMarshaller();
        return (Message)
            ((MethodDescriptor.PrototypeMarshaller<?>) marshaller).getMessagePrototype();
      }
    }
    throw new AssertionError("no request is known for " + method);
  }

  private static Message descriptor(String cache) {
    return Flight.FlightDescriptor.newBuilder()
        .setType(Flight.FlightDescriptor.DescriptorType.CMD)
        .setCmd(ReadCommand.newBuilder().setCache(cache).build().toByteString())
        .build();
  }

  private static Message ticket(String cache) {
    return Flight.Ticket.newBuilder()
        .setTicket(ReadCommand.newBuilder().setCache(cache).addPartitions(1).build().toByteString())
        .build();
  }

  private static Message put(String cache) {
    Schema schema =
        new Schema(
            Collections.singletonList(Field.nullable("x", new ArrowType.Int(Long.SIZE, true))));
    return Flight.FlightData.newBuilder()
        .setDataHeader(
            ByteString.copyFrom(MessageSerializer.serializeMetadata(schema, IpcOption.DEFAULT)))
        .setFlightDescriptor(
            Flight.FlightDescriptor.newBuilder()
                .setType(Flight.FlightDescriptor.DescriptorType.CMD)
                .setCmd(LoadCommand.newBuilder().setCache(cache).build().toByteString()))
        .build();
  }

  private static Job.Builder job(String id, String owner) {
    return Job.newBuilder()
        .setId(id)
        .setRequestId("request of " + id)
        .setOwner(owner)
        .setState(JobState.STOPPED)
        .setFinishedAt(Timestamp.newBuilder().setSeconds(1));
  }

  private static String as(String name) {
    return bearer(TOKENS.get(name));
  }

  private static String sha256(String text) {
    return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString();
  }

  private static NodeDirectory directory() {
    UUID local = node.cluster().localNode().id();
    return new NodeDirectory() {
      @Override
      public Optional<String> address(UUID nodeId) {
        return Optional.of("127.0.0.1:1");
      }

      @Override
      public UUID localNode() {
        return local;
      }

      @Override
      public boolean encrypted() {
        return false;
      }
    };
  }
}
