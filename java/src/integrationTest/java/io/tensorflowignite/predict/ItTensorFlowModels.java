package io.tensorflowignite.predict;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.Await;
import io.tensorflowignite.FreePorts;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowModels;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.DeployModelRequest;
import io.tensorflowignite.v1.ListDeploymentsRequest;
import io.tensorflowignite.v1.ListDeploymentsResponse;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.ModelServiceGrpc;
import io.tensorflowignite.v1.ModelServiceGrpc.ModelServiceBlockingStub;
import io.tensorflowignite.v1.ModelStatus;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.IgniteCacheProxy;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * The Ignite service, and the SQL, of nodes that serve a SavedModel of TensorFlow.
 *
 * <p>Promise (prediction): A node that has just joined forwards predictions until it has the
 * tables.
 */
public class ItTensorFlowModels {
  private static final int NODES = 2;
  private static final int PORTS = 10;
  private static final int ROWS = 100;
  private static final int TIMEOUTS = 200;
  // Low enough that programs beside the tests leave the process time.
  private static final int NICE = 1;
  private static final long TIMEOUT_S = 180;

  private static final String PYTHON = ".venv/bin/python";

  /** Doubles {@code x}, a row of two numbers, and says whether its sum is above 3. */
  private static final String MODEL =
      String.join(
          "\n",
          "import sys, pathlib, tensorflow as tf",
          "sys.path.insert(0, 'tests')",
          "from model_files import write",
          "class Double(tf.Module):",
          "    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, 'x')])",
          "    def call(self, x):",
          "        total = tf.reduce_sum(x, axis=1)",
          "        return {'y': 2 * x, 'large': total > 3, 'text': tf.strings.as_string(total,"
              + " precision=0)}",
          "module = Double()",
          "write(module, module.call, pathlib.Path(sys.argv[1]))");

  /** A key with several fields. */
  private static final class Place {
    final String name;
    final int number;

    Place(String name, int number) {
      this.name = name;
      this.number = number;
    }
  }

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule
  public static final ServiceSettings SETTINGS =
      new ServiceSettings(Paths.get(PYTHON).toAbsolutePath().toString())
          .with("tasks.nice", String.valueOf(NICE));

  private static final List<SystemCache> TABLES =
      List.of(SystemCache.DEPLOYMENTS, SystemCache.MODEL_STATES, SystemCache.NODES);
  private static final List<Ignite> STARTED = new ArrayList<>();
  private static LoopbackNodes loopback;
  private static int thinPort;
  private static TensorFlowModels models;

  @BeforeClass
  @SuppressWarnings("deprecation") // No other way moves rows that are held.
  public static void serve() throws Exception {
    thinPort = FreePorts.claim(NODES + 1);
    loopback = new LoopbackNodes(PORTS);
    for (int i = 0; i < NODES; i++) {
      STARTED.add(Ignition.start(configuration(i)));
    }
    // A request may end before its partitions have moved, without them.
    for (SystemCache table : TABLES) {
      IgniteCache<?, ?> cache = STARTED.get(1).cache(table.cacheName());
      Await.until(
          "the second node has the tables",
          () -> {
            cache.rebalance().get(TIMEOUT_S, TimeUnit.SECONDS);
            return !isMoving(cache);
          });
    }
    for (Ignite node : STARTED) {
      NodeService.address(node);
    }
    putModel(STARTED.get(0));
    putRows(STARTED.get(0));
    deploy();
    models = proxy(STARTED.get(1));
  }

  @AfterClass
  public static void stop() {
    STARTED.forEach(Ignite::close);
    SETTINGS.awaitNoThreads();
  }

  @Test
  public void columnsOfPlainValuesBecomeColumns() {
    for (Ignite node : STARTED) {
      Map<String, Object> outputs =
          proxy(node).predict("double", Map.of("x", new float[][] {{1, 2}, {3, 4}}));
      assertArrayEquals(new float[] {2, 4}, (float[]) ((Object[]) outputs.get("y"))[0], 0);
      assertArrayEquals(new float[] {6, 8}, (float[]) ((Object[]) outputs.get("y"))[1], 0);
      assertArrayEquals(new boolean[] {false, true}, (boolean[]) outputs.get("large"));
      assertArrayEquals(new String[] {"3", "7"}, (String[]) outputs.get("text"));
    }
    Map<String, Object> flat = models.predict("double:1", Map.of("x", List.of(1, 2L, 3.0, 4f)));
    assertEquals(2, ((Object[]) flat.get("y")).length);
  }

  @Test
  public void aThinClientCallsTheSameService() {
    ClientConfiguration configuration =
        new ClientConfiguration().setAddresses("127.0.0.1:" + thinPort);
    try (IgniteClient client = Ignition.startClient(configuration)) {
      TensorFlowModels thin =
          client.services().serviceProxy(TensorFlowService.NAME, TensorFlowModels.class);
      Map<String, Object> outputs = thin.predict("double", Map.of("x", new float[] {5, 6}));
      assertArrayEquals(new float[] {10, 12}, (float[]) ((Object[]) outputs.get("y"))[0], 0);
      assertEquals(
          ROWS, ((boolean[]) thin.predictKeys("double", "points", keys()).get("large")).length);
      String error =
          assertThrows(
                  RuntimeException.class, () -> thin.predict("double", Map.of("x", new int[] {1})))
              .getMessage();
      assertTrue(error, error.contains("takes x: float32[?, 2]"));
      assertTrue(error, error.contains("[code=INVALID_REQUEST]"));
    }
  }

  @Test
  public void rowsOfAllOwnersArePredictedInTheOrderOfTheKeys() {
    Object[] keys = keys();
    Collections.shuffle(Arrays.asList(keys));
    for (Ignite node : STARTED) {
      Object[] outputs = (Object[]) proxy(node).predictKeys("double", "points", keys).get("y");
      for (int i = 0; i < keys.length; i++) {
        int key = (Integer) keys[i];
        assertArrayEquals(new float[] {2 * key, 2}, (float[]) outputs[i], 0);
      }
    }
    String missing = fails(() -> models.predictKeys("double", "points", new Object[] {0, -1}));
    assertTrue(missing, missing.contains("has no row with the key -1"));
    String column = fails(() -> models.predictKeys("double", "numbers", new Object[] {1, 2}));
    assertTrue(column, column.contains("x: float32[?, 2]"));
  }

  @Test
  public void keysMayBeObjects() {
    Ignite node = STARTED.get(0);
    IgniteCache<Object, Object> places =
        node.getOrCreateCache(new CacheConfiguration<>("places").setBackups(1));
    Object[] keys = new Object[ROWS];
    for (int i = 0; i < ROWS; i++) {
      keys[i] = new Place("place", i);
      places.put(keys[i], node.binary().builder("Point").setField("x", new float[] {i, 1}).build());
    }
    keys[1] = node.binary().toBinary(keys[1]);
    for (Ignite caller : STARTED) {
      Object[] outputs = (Object[]) proxy(caller).predictKeys("double", "places", keys).get("y");
      for (int i = 0; i < ROWS; i++) {
        assertArrayEquals(new float[] {2 * i, 2}, (float[]) outputs[i], 0);
      }
    }
    String missing =
        fails(
            () -> models.predictKeys("double", "places", new Object[] {new Place("no place", 7)}));
    assertTrue(missing, missing.contains("has no row with the key"));
    assertTrue(missing, missing.contains("no place"));
  }

  @Test
  public void nullIsRefusedWithItsPlace() {
    String keys = fails(() -> models.predictKeys("double", "points", null));
    assertTrue(keys, keys.contains("The request has no keys"));
    String key = fails(() -> models.predictKeys("double", "points", new Object[] {1, null}));
    assertTrue(key, key.contains("The key at the index 1 of 2 keys for the cache 'points' is"));
    String inputs = fails(() -> models.predict("double", null));
    assertTrue(inputs, inputs.contains("has null in place of its inputs"));
    for (String text : List.of(keys, key, inputs)) {
      assertTrue(text, text.contains("[code=INVALID_REQUEST]"));
    }
  }

  @Test
  public void aCallThatIsLateFailsAtItsDeadline() {
    String late = fails(() -> models.predict("double", Map.of("x", new float[] {1, 2}), 0));
    assertTrue(late, late.contains("The timeout is 0 ms"));
    String unknown = fails(() -> models.predict("none", Map.of()));
    assertTrue(unknown, unknown.contains("The model none is not deployed"));
    assertTrue(unknown, unknown.contains("[code=MODEL_NOT_FOUND]"));
  }

  @Test
  public void aNodeThatHasJoinedForwardsBeforeItHasTheTables() throws Exception {
    try (Ignite joined = Ignition.start(configuration(NODES))) {
      NodeService.address(joined);
      Map<String, Object> outputs =
          proxy(joined).predict("double", Map.of("x", new float[] {1, 2}));
      assertArrayEquals(new float[] {2, 4}, (float[]) ((Object[]) outputs.get("y"))[0], 0);
      String unknown = fails(() -> proxy(joined).predict("none", Map.of()));
      assertTrue(unknown, unknown.contains("[code=MODEL_NOT_FOUND]"));
      assertEquals(1, deployments(joined).getDeploymentsCount());
      for (SystemCache table : TABLES) {
        assertTrue("rows are held", isMoving(joined.cache(table.cacheName())));
      }
    }
  }

  @Test
  public void sqlPredictsOneRowAfterTheOtherOnTheNodesThatOwnThem() {
    for (Ignite node : STARTED) {
      List<List<?>> rows =
          sql(
              node,
              "SELECT _key, TF_PREDICT_ARRAY('double#y', x), TF_PREDICT_TEXT('double#text', x)"
                  + " FROM \"points\".Point ORDER BY _key");
      assertEquals(ROWS, rows.size());
      for (int key = 0; key < ROWS; key++) {
        assertArrayEquals(new Object[] {2f * key, 2f}, (Object[]) rows.get(key).get(1));
        assertEquals(String.valueOf(key + 1), rows.get(key).get(2));
      }
      String large = " FROM \"points\".Point WHERE TF_PREDICT('double@stable#large', x) = 1";
      assertEquals(ROWS - 3L, one(node, "SELECT COUNT(*)" + large));
      assertEquals(
          "the index of the greatest number, computed with, sorted and aggregated",
          ROWS - 2.0,
          one(node, "SELECT SUM(1 - ABS(TF_PREDICT('double:1#y', x)))" + large + " OR _key = 2"));
      assertEquals(
          ROWS - 1,
          one(
              node,
              "SELECT _key FROM \"points\".Point ORDER BY"
                  + " TF_PREDICT('double#large', x) DESC, _key DESC LIMIT 1"));
    }
  }

  @Test
  public void aModelProcessHasThePriorityOfTasks() throws Exception {
    long pid =
        deployments(STARTED.get(0)).getNodesList().stream()
            .flatMap(node -> node.getModelsList().stream())
            .mapToLong(ModelStatus::getPid)
            .max()
            .orElseThrow();
    String state = Files.readString(Paths.get("/proc/" + pid + "/stat"));
    // The fields behind the name begin with the third one; the nineteenth is the nice value.
    String nice = state.substring(state.lastIndexOf(')') + 2).split(" ")[16];
    assertTrue(nice, Integer.parseInt(nice) >= NICE);
  }

  private static IgniteConfiguration configuration(int number) {
    return loopback
        .configuration("models-" + number, FOLDER.getRoot().toPath().resolve("node-" + number))
        .setServiceConfiguration(NodeService.of(bean()))
        .setCacheConfiguration(
            TABLES.stream().map(ItTensorFlowModels::held).toArray(CacheConfiguration[]::new))
        .setClientConnectorConfiguration(
            new ClientConnectorConfiguration()
                .setHost("127.0.0.1")
                .setPort(thinPort)
                .setPortRange(NODES));
  }

  private static boolean isMoving(IgniteCache<?, ?> cache) {
    GridCacheContext<?, ?> local = ((IgniteCacheProxy<?, ?>) cache).context();
    return local.topology().localPartitionMap().hasMovingPartitions();
  }

  /** A table whose rows come to a node that joins when a test says so. */
  @SuppressWarnings("deprecation")
  private static CacheConfiguration<?, ?> held(SystemCache table) {
    boolean isAtomic = table == SystemCache.MODEL_STATES || table == SystemCache.NODES;
    return new CacheConfiguration<>(table.cacheName())
        .setCacheMode(CacheMode.REPLICATED)
        .setAtomicityMode(isAtomic ? CacheAtomicityMode.ATOMIC : CacheAtomicityMode.TRANSACTIONAL)
        .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
        .setRebalanceDelay(-1);
  }

  @Test
  public void columnsOfATableAreOneInputAndNullIsNull() throws SQLException {
    Ignite node = STARTED.get(0);
    sql(node, "CREATE TABLE Readings (id INT PRIMARY KEY, a DOUBLE, b SMALLINT, model VARCHAR)");
    sql(node, "INSERT INTO Readings VALUES (1, 1.5, 2, 'double#large'), (2, 1, 1, 'double#large')");
    sql(node, "INSERT INTO Readings VALUES (3, 9, 9, NULL), (4, NULL, 9, 'double#large')");
    String url = "jdbc:ignite:thin://127.0.0.1:" + thinPort;
    try (Connection connection = DriverManager.getConnection(url);
        ResultSet rows =
            connection
                .createStatement()
                .executeQuery(
                    "SELECT id, TF_PREDICT(model, (a, b)), TF_PREDICT_ARRAY('double#y', 'x', (b,"
                        + " b)), TF_PREDICT('double#y', NULL) FROM Readings WHERE id < 4 ORDER BY"
                        + " id")) {
      List<Object> large = new ArrayList<>();
      while (rows.next()) {
        large.add(rows.getObject(2));
        float twice = 2f * List.of(2, 1, 9).get(rows.getInt(1) - 1);
        assertArrayEquals(new Object[] {twice, twice}, (Object[]) rows.getObject(3));
        assertNull(rows.getObject(4));
      }
      assertEquals(Arrays.asList(1.0, 0.0, null), large);
    }
    refuse(
        "is null and not a number", "SELECT TF_PREDICT(model, (a, b)) FROM Readings WHERE id = 4");
  }

  @Test
  public void aQueryThatCannotPredictSaysWhy() {
    refuse("The model none is not deployed", query("TF_PREDICT('none', x)"));
    refuse("has the outputs", query("TF_PREDICT('double', x)"));
    refuse("Name it after a #", query("TF_PREDICT('double#z', x)"));
    refuse("takes the inputs [x: float32[?, 2]]", query("TF_PREDICT('double#y', 'z', x)"));
    refuse("the call has 3 values", query("TF_PREDICT('double#y', x, x, x)"));
    refuse("x: float32[1, 3] does not fit", query("TF_PREDICT('double#y', (1, 2, 3))"));
    refuse("Call TF_PREDICT_TEXT", query("TF_PREDICT('double#text', x)"));
    refuse("label: none", query("TF_PREDICT('double@none#y', x)"));
  }

  @Test
  public void aQueryThatReachesItsTimeoutEnds() {
    String sql = query("COUNT(TF_PREDICT('double#y', x))").replace("LIMIT 1", "");
    // At any part of a millisecond, and of a prediction.
    for (int i = 0; i < TIMEOUTS; i++) {
      SqlFieldsQuery query =
          new SqlFieldsQuery(sql).setSchema("PUBLIC").setTimeout(1 + i % 5, TimeUnit.MILLISECONDS);
      String text = fails(() -> STARTED.get(0).cache("points").query(query).getAll());
      assertTrue(text, text.contains("cancel"));
    }
  }

  @Test
  public void aQueryOfACacheNamesTheSchemaOfTheFunctions() {
    List<List<?>> local =
        STARTED
            .get(1)
            .cache("points")
            .query(
                new SqlFieldsQuery("SELECT PUBLIC.TF_PREDICT('double#large', x) FROM Point")
                    .setLocal(true))
            .getAll();
    assertTrue(local.size() > 0 && local.size() < ROWS);
    assertTrue(local.contains(List.of(1.0)));
  }

  @Test
  public void aClientNodeSendsTheQueryToTheServers() throws IOException {
    try (Ignite client =
        Ignition.start(
            loopback
                .configuration("models-client", FOLDER.newFolder().toPath())
                .setClientMode(true))) {
      assertEquals(
          ROWS - 3L,
          one(
              client,
              "SELECT COUNT(*) FROM \"points\".Point WHERE TF_PREDICT('double#large', x) = 1"));
      String text = fails(() -> sql(client, "SELECT TF_PREDICT('double#large', (1, 2))"));
      assertTrue(text, text.contains("was called on a node that does not predict"));
    }
  }

  private static TensorFlowService bean() {
    TensorFlowService bean = new TensorFlowService();
    bean.setSqlFunctions(true);
    return bean;
  }

  private static String query(String function) {
    return "SELECT " + function + " FROM \"points\".Point LIMIT 1";
  }

  private static void refuse(String reason, String sql) {
    String text = fails(() -> sql(STARTED.get(0), sql));
    assertTrue(text, text.contains(reason));
    assertTrue(text, text.contains("[code="));
  }

  private static Object one(Ignite node, String sql) {
    List<List<?>> rows = sql(node, sql);
    assertEquals(1, rows.size());
    return rows.get(0).get(0);
  }

  private static List<List<?>> sql(Ignite node, String sql) {
    return node.cache("numbers").query(new SqlFieldsQuery(sql).setSchema("PUBLIC")).getAll();
  }

  private static String fails(Runnable call) {
    Throwable failure = assertThrows(RuntimeException.class, call::run);
    StringBuilder texts = new StringBuilder();
    for (; failure != null; failure = failure.getCause()) {
      texts.append(failure.getMessage()).append('\n');
    }
    return texts.toString();
  }

  private static TensorFlowModels proxy(Ignite node) {
    return node.services().serviceProxy(TensorFlowService.NAME, TensorFlowModels.class, false);
  }

  private static Object[] keys() {
    Object[] keys = new Object[ROWS];
    Arrays.setAll(keys, i -> i);
    return keys;
  }

  private static void putRows(Ignite node) {
    IgniteCache<Object, Object> points =
        node.getOrCreateCache(
            new CacheConfiguration<>("points")
                .setCacheMode(CacheMode.PARTITIONED)
                .setBackups(1)
                .setQueryEntities(
                    List.of(
                        new QueryEntity(Integer.class.getName(), "Point")
                            .addQueryField("X", float[].class.getName(), null))));
    IgniteCache<Object, Object> numbers =
        node.getOrCreateCache(new CacheConfiguration<>("numbers").setBackups(1));
    for (int key = 0; key < ROWS; key++) {
      points.put(key, node.binary().builder("Point").setField("X", new float[] {key, 1}).build());
      numbers.put(key, "a text");
    }
  }

  private static void putModel(Ignite node) throws IOException, InterruptedException {
    Path local = FOLDER.getRoot().toPath().resolve("double");
    Process made = new ProcessBuilder(PYTHON, "-c", MODEL, local.toString()).inheritIO().start();
    assertTrue(made.waitFor(TIMEOUT_S, TimeUnit.SECONDS));
    assertEquals(0, made.exitValue());
    StorageSettings settings =
        new StorageSettings(TensorFlowService.NAME, 1, null, 2 << 20, Duration.ofMinutes(2));
    try (Storage storage = new Storage(node, settings);
        Stream<Path> files = Files.walk(local)) {
      for (Path file : files.filter(Files::isRegularFile).collect(Collectors.toList())) {
        try (StorageOutput out =
            new StorageOutput(storage, "/models/double/1/" + local.relativize(file))) {
          Files.copy(file, out);
        }
      }
      try (StorageOutput label = new StorageOutput(storage, "/models/double/.labels/stable")) {
        label.write("1".getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  private static ListDeploymentsResponse deployments(Ignite node) {
    return call(node, calls -> calls.listDeployments(ListDeploymentsRequest.getDefaultInstance()));
  }

  private static void deploy() {
    Ignite node = STARTED.get(0);
    ModelKey key = ModelKey.newBuilder().setName("double").setNumber(1).build();
    DeployModelRequest request = DeployModelRequest.newBuilder().setKey(key).setReplicas(1).build();
    call(node, calls -> calls.deployModel(request));
    AtomicReference<ListDeploymentsResponse> last = new AtomicReference<>();
    try {
      Await.until(
          "the model serves",
          () -> {
            last.set(deployments(node));
            return last.get().getDeployments(0).getCurrent() == 1;
          });
    } catch (AssertionError e) {
      throw new AssertionError(String.valueOf(last), e);
    }
  }

  private static <T> T call(Ignite node, Function<ModelServiceBlockingStub, T> call) {
    ManagedChannel channel =
        NettyChannelBuilder.forTarget(NodeService.address(node)).usePlaintext().build();
    try {
      return call.apply(ModelServiceGrpc.newBlockingStub(channel));
    } finally {
      channel.shutdownNow();
    }
  }
}
