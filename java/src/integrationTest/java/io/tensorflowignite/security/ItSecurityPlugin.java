package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.basic;
import static io.tensorflowignite.security.Requests.FLIGHT;
import static io.tensorflowignite.security.Requests.JOBS;
import static io.tensorflowignite.security.Requests.descriptor;
import static io.tensorflowignite.security.Requests.put;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_CREATE;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_PUT;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_READ;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_DEPLOY;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_INVOKE;
import static org.apache.ignite.plugin.security.SecurityPermissionSetBuilder.ALL_PERMISSIONS;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.hash.Hashing;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.Status;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.v1.ExistingCache;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.UploadCodeRequest;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.arrow.flight.impl.Flight;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.plugin.security.SecurityPermission;
import org.apache.ignite.plugin.security.SecurityPermissionSetBuilder;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The bean on a node whose users and permissions come from a security plugin. */
public class ItSecurityPlugin {

  private static final ListNodesRequest NODES = ListNodesRequest.getDefaultInstance();
  private static final ByteString CODE = ByteString.copyFromUtf8("an archive");

  private static final String ADMIN = basic("admin", "admins password");
  private static final String READER = basic("reader", "readers password");
  private static final String LOADER = basic("loader", "loaders password");
  private static final String SUBMITTER = basic("submitter", "submitters password");
  private static final String ARCHIVIST = basic("archivist", "archivists password");

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = new ServiceSettings("/bin/false");

  private static final UsersPlugin PLUGIN =
      new UsersPlugin()
          .user("admin", "admins password", ALL_PERMISSIONS)
          .user("reader", "readers password", cache("images", CACHE_READ).build())
          .user("loader", "loaders password", cache("raw", CACHE_PUT, CACHE_CREATE).build())
          .user(
              "submitter",
              "submitters password",
              cache("images", CACHE_READ)
                  .appendServicePermissions(TensorFlowService.NAME, SERVICE_DEPLOY, SERVICE_INVOKE)
                  .build())
          .user(
              "archivist",
              "archivists password",
              cache("tensorflow-ignite-files", CACHE_READ).build());

  private static Ignite node;
  private static RawCalls calls;

  @BeforeClass
  public static void start() throws IOException {
    node =
        Ignition.start(
            new LoopbackNodes(1)
                .configuration("security", FOLDER.getRoot().toPath())
                .setPluginProviders(PLUGIN)
                .setServiceConfiguration(NodeService.of(new TensorFlowService())));
    for (String cache : ImmutableList.of("images", "salaries")) {
      node.<Integer, Integer>getOrCreateCache(cache).put(1, 1);
    }
    calls = new RawCalls(NodeService.address(node));
  }

  @AfterClass
  public static void stop() throws InterruptedException {
    calls.close();
    node.close();
  }

  @Test
  public void thePluginVerifiesPasswords() {
    calls.call(JOBS + "ListNodes", NODES, ADMIN).assertAnswered();
    unauthenticated();
    String wrong = unauthenticated(basic("admin", "guessed"));
    assertEquals("not which of the two", wrong, unauthenticated(basic("nobody", "guessed")));
    assertTrue(wrong, wrong.contains("The user name or the password is wrong."));
    unauthenticated(basic("admin", ""));
    unauthenticated(basic("admin", "readers password"));
  }

  @Test
  public void permissionToReadACacheOpensNoOtherCache() {
    info("images", READER).assertAnswered();
    RawCalls.Answer rows = calls.call(FLIGHT + "DoGet", ticket("images"), READER);
    rows.assertAnswered();
    assertFalse(rows.toString(), rows.messages.isEmpty());
    String text = denied(info("salaries", READER));
    assertTrue(text, text.contains("'reader' lacks the permission read, salaries"));
    assertTrue(text, text.contains("security plugin"));
    denied(calls.call(FLIGHT + "DoGet", ticket("salaries"), READER));
    denied(info("images", LOADER));
  }

  @Test
  public void permissionToReadAllowsNothingElse() {
    denied(load("images", READER));
    denied(load("made", READER));
    assertFalse(node.cacheNames().contains("made"));
    denied(upload(READER));
    denied(submit("images", READER));
    denied(calls.call(JOBS + "ListNodes", NODES, READER));
    denied(file(READER));
    denied(directory(READER));
  }

  @Test
  public void creatingAndReplacingACacheNeedPermissions() {
    denied(load("other", LOADER));
    load("raw", LOADER).assertAnswered();
    assertTrue(node.cacheNames().contains("raw"));
    denied(load("raw", ExistingCache.EXISTING_CACHE_REPLACE, LOADER));
    load("raw", ExistingCache.EXISTING_CACHE_REPLACE, ADMIN).assertAnswered();
  }

  @Test
  public void permissionToDeployTheServiceAllowsJobsOnReadableCaches() {
    upload(SUBMITTER).assertAnswered();
    calls.call(JOBS + "ListNodes", NODES, SUBMITTER).assertAnswered();
    denied(submit("salaries", SUBMITTER));
    assertReachesTheJob(submit("images", SUBMITTER));
  }

  @Test
  public void permissionsForFilesAreThoseOfTheStoresCache() {
    file(ARCHIVIST).assertAnswered();
    denied(directory(ARCHIVIST));
    file(ADMIN).assertAnswered();
    directory(ADMIN).assertAnswered();
  }

  @Test
  public void allPermissionsAllowEverything() {
    info("images", ADMIN).assertAnswered();
    info("salaries", ADMIN).assertAnswered();
    load("of_admin", ADMIN).assertAnswered();
    assertTrue(node.cacheNames().contains("of_admin"));
    upload(ADMIN).assertAnswered();
    assertReachesTheJob(submit("salaries", ADMIN));
    String text = denied(info("tensorflow-ignite-blocks", ADMIN));
    assertTrue(text, text.contains("a system cache"));
  }

  @Test
  public void repeatedCallsOfAUserUseOneSessionOfThePlugin() {
    IgniteSecurityAccess users = new IgniteSecurityAccess(node);
    for (int port = 1; port <= 3; port++) {
      InetSocketAddress peer = new InetSocketAddress("127.0.0.1", port);
      assertTrue(users.authenticate("archivist", "archivists password", peer).isPresent());
    }
    assertEquals(1, PLUGIN.sessions("archivist"));
  }

  private static SecurityPermissionSetBuilder cache(String name, SecurityPermission... given) {
    return SecurityPermissionSetBuilder.create()
        .defaultAllowAll(false)
        .appendCachePermissions(name, given);
  }

  private static String unauthenticated(String... authorization) {
    return calls
        .call(JOBS + "ListNodes", NODES, authorization)
        .assertRefused(Status.Code.UNAUTHENTICATED);
  }

  private static String denied(RawCalls.Answer answer) {
    return answer.assertRefused(Status.Code.PERMISSION_DENIED);
  }

  /** The permissions are sufficient; the job is invalid. */
  private static void assertReachesTheJob(RawCalls.Answer answer) {
    assertEquals(answer.toString(), Status.Code.INVALID_ARGUMENT, answer.status.getCode());
    assertTrue(
        answer.toString(), answer.status.getDescription().contains("strategy.kind is not set"));
  }

  private static RawCalls.Answer info(String cache, String authorization) {
    return calls.call(FLIGHT + "GetFlightInfo", descriptor(cache), authorization);
  }

  private static Message ticket(String cache) {
    ReadCommand.Builder command = ReadCommand.newBuilder().setCache(cache);
    for (int partition : node.affinity(cache).primaryPartitions(node.cluster().localNode())) {
      command.addPartitions(partition);
    }
    return Flight.Ticket.newBuilder().setTicket(command.build().toByteString()).build();
  }

  private static RawCalls.Answer load(String cache, String authorization) {
    return load(cache, ExistingCache.EXISTING_CACHE_ERROR, authorization);
  }

  private static RawCalls.Answer load(String cache, ExistingCache existing, String authorization) {
    LoadCommand command = LoadCommand.newBuilder().setCache(cache).setExisting(existing).build();
    return calls.call(FLIGHT + "DoPut", put(command), authorization);
  }

  private static RawCalls.Answer upload(String authorization) {
    UploadCodeRequest code =
        UploadCodeRequest.newBuilder()
            .setDigest(Hashing.sha256().hashBytes(CODE.toByteArray()).toString())
            .setChunk(CODE)
            .build();
    return calls.call(JOBS + "UploadCode", code, authorization);
  }

  private static RawCalls.Answer submit(String cache, String authorization) {
    Message request = Requests.submission(JobSpec.newBuilder().setCache(cache));
    return calls.call(JOBS + "SubmitJob", request, authorization);
  }

  private static RawCalls.Answer file(String authorization) {
    return calls.call(Requests.GET_FILE, Requests.file("/"), authorization);
  }

  private static RawCalls.Answer directory(String authorization) {
    return calls.call(Requests.MAKE_DIRECTORY, Requests.directory("/made"), authorization);
  }
}
