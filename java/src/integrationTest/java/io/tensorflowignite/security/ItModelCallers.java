package io.tensorflowignite.security;

import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableList;
import io.tensorflowignite.FreePorts;
import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowJobs;
import io.tensorflowignite.TensorFlowModels;
import io.tensorflowignite.TensorFlowService;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.internal.processors.odbc.ClientListenerProcessor;
import org.junit.After;
import org.junit.Rule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/**
 * Callers of the Ignite service for models and jobs: they are known only if Ignite knows them.
 *
 * <p>Promise (security): A query predicts in the name of its caller, and for an unknown one only
 * what everyone may.
 *
 * <p>Promise (security): An Ignite service answers only callers whom Ignite knows, where callers
 * must authenticate.
 */
@Category(Full.class)
public class ItModelCallers {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Rule public final ServiceSettings settings = new ServiceSettings("/bin/false");

  private final TensorFlowService bean = new TensorFlowService();
  private Ignite node;
  private int port;

  @After
  public void stopNode() {
    node.close();
  }

  @Test
  public void whereIgniteDoesNotKnowItsCallersPredictionsAreOff() throws IOException {
    bean.getSecurity().setAccess(Collections.singletonList("alice predict digits"));
    bean.getSecurity().setTokens(Collections.singletonMap("alice", SecuredNode.sha256("secret")));
    start(false);
    String text =
        fails(
            node.services().serviceProxy(TensorFlowService.NAME, TensorFlowModels.class, false),
            "digits");
    assertTrue(text, text.contains("Predictions by Ignite's services and SQL are off"));
    assertTrue(text, text.contains("[code=PERMISSION_DENIED]"));
    TensorFlowJobs jobs =
        node.services().serviceProxy(TensorFlowService.NAME, TensorFlowJobs.class, false);
    for (ThrowingRunnable call :
        List.<ThrowingRunnable>of(
            () -> jobs.list(1),
            () -> jobs.describe("none"),
            () -> jobs.submit(Map.of("a.py", ""), Map.of("cache", "rows")))) {
      String off = failure(call);
      assertTrue(off, off.contains("Calls for jobs by Ignite's services are off"));
      assertTrue(off, off.contains("[code=PERMISSION_DENIED]"));
    }
    String bySql =
        failure(
            () ->
                node.getOrCreateCache("rows")
                    .query(new SqlFieldsQuery("SELECT PUBLIC.TF_PREDICT('digits', 1)"))
                    .getAll());
    assertTrue(bySql, bySql.contains("Predictions by Ignite's services and SQL are off"));
  }

  @Test
  public void usersOfIgniteNeedThePermission() throws IOException, SQLException {
    bean.getSecurity()
        .setAccess(ImmutableList.of("ignite all", "bob predict digits", "* predict open"));
    start(true);
    try (IgniteClient admin = connect("ignite", "ignite")) {
      admin.query(new SqlFieldsQuery("CREATE USER \"bob\" WITH PASSWORD 'bobs'")).getAll();
      String text = fails(models(admin), "trips");
      assertTrue(text, text.contains("The model trips is not deployed"));
      String none = failure(() -> models(admin).predictKeys("trips", null, new Object[] {1}));
      assertTrue(none, none.contains("There is no cache 'null'"));
      String submit =
          failure(
              () ->
                  admin
                      .services()
                      .serviceProxy(TensorFlowService.NAME, TensorFlowJobs.class)
                      .submit(Map.of("a.py", ""), Map.of("cache", "none")));
      assertTrue(submit, submit.contains("There is no cache 'none'"));
      admin.query(new SqlFieldsQuery("CREATE TABLE Rows (id INT PRIMARY KEY, a INT)")).getAll();
      admin.query(new SqlFieldsQuery("INSERT INTO Rows VALUES (1, 1)")).getAll();
    }
    try (IgniteClient bob = connect("bob", "bobs")) {
      String allowed = fails(models(bob), "digits");
      assertTrue(allowed, allowed.contains("The model digits is not deployed"));
      TensorFlowJobs jobs =
          bob.services().serviceProxy(TensorFlowService.NAME, TensorFlowJobs.class);
      String submit = failure(() -> jobs.submit(Map.of("a.py", ""), Map.of("cache", "Rows")));
      assertTrue(submit, submit.contains("'bob' lacks the permission submit"));
      assertTrue(jobs.list(1).isEmpty());
      String denied = fails(models(bob), "trips");
      assertTrue(denied, denied.contains("'bob' lacks the permission predict, trips"));
      String unnamed = failure(() -> rows(bob, "SELECT TF_PREDICT('digits', id) FROM Rows"));
      assertTrue(unnamed, unnamed.contains("Connect by JDBC or ODBC"));
      String every = failure(() -> rows(bob, "SELECT TF_PREDICT('open', id) FROM Rows"));
      assertTrue(every, every.contains("The model open is not deployed"));
    }
    String url = "jdbc:ignite:thin://127.0.0.1:" + port + "?user=bob&password=bobs&lazy=";
    for (boolean lazy : new boolean[] {false, true}) {
      try (Connection bob = DriverManager.getConnection(url + lazy)) {
        for (String from : List.of("", " FROM Rows WHERE id = 1", " FROM Rows ORDER BY a")) {
          String sql = "SELECT TF_PREDICT('%s', 1)" + from;
          String one = failure(() -> query(bob, String.format(sql, "digits")));
          assertTrue(one, one.contains("The model digits is not deployed"));
          String other = failure(() -> query(bob, String.format(sql, "trips@stable")));
          assertTrue(other, other.contains("'bob' lacks the permission predict, trips"));
        }
      }
    }
  }

  private static boolean query(Connection connection, String sql) throws SQLException {
    return connection.createStatement().executeQuery(sql).next();
  }

  private static List<List<?>> rows(IgniteClient client, String sql) {
    return client.query(new SqlFieldsQuery(sql)).getAll();
  }

  private void start(boolean users) throws IOException {
    bean.setSqlFunctions(true);
    port = FreePorts.claim(1);
    node =
        Ignition.start(
            new LoopbackNodes(1)
                .configuration("callers", folder.getRoot().toPath())
                .setAuthenticationEnabled(users)
                .setDataStorageConfiguration(
                    LoopbackNodes.storage(
                        new DataRegionConfiguration().setPersistenceEnabled(users)))
                .setClientConnectorConfiguration(
                    new ClientConnectorConfiguration().setHost("127.0.0.1").setPort(port))
                .setServiceConfiguration(NodeService.of(bean)));
    // The next one, if somebody has taken it meanwhile.
    port = node.cluster().localNode().attribute(ClientListenerProcessor.CLIENT_LISTENER_PORT);
    node.cluster().state(ClusterState.ACTIVE);
    NodeService.address(node);
  }

  private IgniteClient connect(String user, String password) {
    return Ignition.startClient(
        new ClientConfiguration()
            .setAddresses("127.0.0.1:" + port)
            .setUserName(user)
            .setUserPassword(password));
  }

  private static TensorFlowModels models(IgniteClient client) {
    return client.services().serviceProxy(TensorFlowService.NAME, TensorFlowModels.class);
  }

  private static String fails(TensorFlowModels models, String model) {
    return failure(() -> models.predict(model, Map.of()));
  }

  private static String failure(ThrowingRunnable call) {
    Throwable failure = assertThrows(Exception.class, call);
    StringBuilder texts = new StringBuilder();
    for (; failure != null; failure = failure.getCause()) {
      texts.append(failure.getMessage()).append('\n');
    }
    return texts.toString();
  }
}
