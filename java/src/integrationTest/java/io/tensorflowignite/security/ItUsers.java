package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.basic;
import static io.tensorflowignite.security.RawCalls.bearer;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Message;
import io.grpc.Status;
import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.FailingUsers;
import io.tensorflowignite.v1.ListNodesRequest;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.authentication.IgniteAccessControlException;
import org.apache.ignite.internal.processors.security.IgniteSecurity;
import org.apache.ignite.internal.processors.security.OperationSecurityContext;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityCredentials;
import org.apache.ignite.plugin.security.SecurityException;
import org.apache.ignite.plugin.security.SecuritySubjectType;
import org.junit.After;
import org.junit.Rule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** The bean on nodes whose Ignite has users, and on nodes with a public address. */
@Category(Full.class)
public class ItUsers {
  private static final String METHOD = "tensorflow_ignite.v1.NodeApiService/ListNodes";
  private static final Message NODES = ListNodesRequest.getDefaultInstance();
  private static final String TOKEN = "aToken";

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Rule public final ServiceSettings settings = new ServiceSettings("/bin/false");

  private final Queue<String> logged = new ConcurrentLinkedQueue<>();
  private final TensorFlowService bean = new TensorFlowService();
  private Ignite node;

  @After
  public void stopNode() {
    node.close();
  }

  @Test
  public void igniteVerifiesPasswords() throws Exception {
    bean.getSecurity().setAccess(Arrays.asList("ignite all", "bob files-read /*", "etl watch"));
    bean.getSecurity().setTokens(Collections.singletonMap("etl", SecuredNode.sha256(TOKEN)));
    start(true);
    addUser("bob", "bobs password: with a colon");
    try (RawCalls calls = new RawCalls(address())) {
      calls.call(METHOD, NODES, basic("ignite", "ignite")).assertAnswered();
      calls.call(METHOD, NODES, basic("ignite", "ignite")).assertAnswered();
      calls.call(METHOD, NODES, bearer(TOKEN)).assertAnswered();
      calls.call(METHOD, NODES).assertRefused(Status.Code.UNAUTHENTICATED);

      String bob = basic("bob", "bobs password: with a colon");
      calls.call(METHOD, NODES, bob).assertRefused(Status.Code.PERMISSION_DENIED);
      calls.call(Requests.GET_FILE, Requests.file("/"), bob).assertAnswered();

      String wrong = refused(calls, basic("bob", "guessed"));
      assertEquals(
          "does not show which of the two is wrong", wrong, refused(calls, basic("eve", "x")));
      assertTrue(wrong, wrong.contains("The user name or the password is wrong."));
      refused(calls, basic("bob", ""));
      refused(calls, basic("", "ignite"));
      refused(calls, "Basic no base64!");
      refused(calls, "Basic " + "AAAA".repeat(1_500));
      guessUntilTheRateLimit(calls);
      // The rate limit does not apply to tokens.
      calls.call(METHOD, NODES, bearer(TOKEN)).assertAnswered();
    }
    String log = String.join("\n", logged);
    assertTrue(log, log.contains("Call refused"));
    assertFalse("no password in the log", log.contains("guessed"));
    assertFalse("no password in the log", log.contains("bobs password"));
    assertFalse("no token in the log", log.contains(TOKEN));
  }

  @Test
  public void aFailureOfIgniteIsNoWrongPassword() throws Exception {
    node =
        Ignition.start(
            new LoopbackNodes(1)
                .configuration("security", folder.getRoot().toPath())
                .setDataStorageConfiguration(persistent(true))
                .setAuthenticationEnabled(true));
    Throwable inactive = failure(new IgniteException("no user bob"));
    assertEquals(ERROR_CODE_CLUSTER_NOT_ACTIVE, ((TensorFlowIgniteException) inactive).code());
    node.cluster().state(ClusterState.ACTIVE);
    Status status = Status.fromThrowable(failure(new IgniteException("no user bob")));
    assertEquals(Status.Code.UNAVAILABLE, status.getCode());
    assertFalse(status.toString(), status.getDescription().contains("bob"));
    assertFalse(isVerified(failing(new SecurityException("no user bob")), "ignite"));
    assertFalse(
        isVerified(
            failing(new IgniteException(new IgniteAccessControlException("bob"))), "ignite"));

    IgniteSecurityAccess users = new IgniteSecurityAccess(node);
    assertTrue(users.reportsDenials());
    assertTrue(isVerified(users, "ignite"));
    assertFalse(isVerified(users, "guessed"));
  }

  private Throwable failure(Exception error) {
    return assertThrows(RuntimeException.class, () -> isVerified(failing(error), "ignite"));
  }

  private static boolean isVerified(IgniteSecurityAccess users, String password) {
    return users
        .authenticate("ignite", password, new InetSocketAddress("127.0.0.1", 1))
        .isPresent();
  }

  /** An Ignite security that always fails. */
  private IgniteSecurityAccess failing(Exception error) {
    return new IgniteSecurityAccess(node, FailingUsers.of(error));
  }

  @Test
  public void aNodeOnAPublicAddressDoesNotServeWithoutAuthentication() throws Exception {
    settings.with("host", "0.0.0.0").before();
    start(false);
    String failure = NodeService.settled(node).failure();
    assertTrue(failure, failure.contains("0.0.0.0"));
    assertTrue(failure, failure.contains("security.allowUnauthenticated=true"));
    assertNull(NodeService.settled(node).address());
  }

  @Test
  public void anExplicitlyOpenNodeLogsAWarning() throws Exception {
    settings.with("host", "0.0.0.0").before();
    bean.getSecurity().setAllowUnauthenticated(true);
    start(false);
    try (RawCalls calls = new RawCalls(address())) {
      calls.call(METHOD, NODES).assertAnswered();
      calls.call(METHOD, NODES, bearer("any")).assertAnswered();
    }
    assertTrue(
        logged.toString(),
        logged.stream().anyMatch(line -> line.contains("can run code on this cluster")));
  }

  private static void guessUntilTheRateLimit(RawCalls calls) {
    for (int i = 0; i < 20 * IgnitePasswords.TRIES_AT_ONCE; i++) {
      if (refused(calls, basic("bob", "guess " + i)).contains("Too many passwords")) {
        return;
      }
    }
    throw new AssertionError("could go on guessing");
  }

  private static String refused(RawCalls calls, String authorization) {
    return calls.call(METHOD, NODES, authorization).assertRefused(Status.Code.UNAUTHENTICATED);
  }

  private void start(boolean users) throws IOException {
    Path work = folder.getRoot().toPath();
    IgniteConfiguration configuration =
        new LoopbackNodes(1)
            .configuration("security", work)
            .setDataStorageConfiguration(persistent(users))
            .setAuthenticationEnabled(users)
            .setGridLogger(new Log())
            .setServiceConfiguration(NodeService.of(bean));
    node = Ignition.start(configuration);
    node.cluster().state(ClusterState.ACTIVE);
  }

  private static DataStorageConfiguration persistent(boolean persistent) {
    return LoopbackNodes.storage(
        new DataRegionConfiguration().setMaxSize(256L << 20).setPersistenceEnabled(persistent));
  }

  /** Adds a user in the name of Ignite's first user, the only one with this permission. */
  private void addUser(String name, String password) throws Exception {
    IgniteSecurity security = ((IgniteEx) node).context().security();
    AuthenticationContext context = new AuthenticationContext();
    context.subjectType(SecuritySubjectType.REMOTE_CLIENT);
    context.credentials(new SecurityCredentials("ignite", "ignite"));
    try (OperationSecurityContext admin = security.withContext(security.authenticate(context))) {
      security.createUser(name, password.toCharArray());
    }
  }

  private String address() {
    return NodeService.address(node).replace("0.0.0.0", "127.0.0.1");
  }

  /** Keeps warnings and errors. */
  private final class Log extends NullLogger {
    @Override
    public IgniteLogger getLogger(Object category) {
      return this;
    }

    @Override
    public void error(String line) {
      logged.add(line);
    }

    @Override
    public void warning(String line) {
      logged.add(line);
    }

    @Override
    public void warning(String line, Throwable why) {
      logged.add(line + why);
    }

    @Override
    public void error(String line, Throwable why) {
      logged.add(line + why);
    }
  }
}
