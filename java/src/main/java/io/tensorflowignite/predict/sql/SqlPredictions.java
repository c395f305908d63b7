package io.tensorflowignite.predict.sql;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_SERVED;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.LocalNode;
import io.tensorflowignite.ignite.SqlEngine;
import io.tensorflowignite.predict.PlainPredictions;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Tensor;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.h2.engine.Session;
import org.h2.value.Value;

/**
 * The functions of SQL on one node. Each node creates them in its own H2: if a cache named their
 * class in its configuration, as Ignite intends it, a node without our jar could not join any more.
 */
public final class SqlPredictions implements AutoCloseable {
  /** The longest time of a prediction; a query with a timeout may leave less. */
  static final long TIMEOUT_MS = 10_000;

  private static final long POLL_MS = 100;

  /** Of a server with our jar, which has the functions before its service runs. */
  private static final String ATTRIBUTE = "tensorflow.ignite.sql.functions";

  private static final String MEMORY = "mem:";
  private static final String SCHEMA = "PUBLIC";
  private static final Map<String, String> METHODS =
      Map.of(
          "TF_PREDICT", "predict",
          "TF_PREDICT_ARRAY", "predictArray",
          "TF_PREDICT_TEXT", "predictText");

  /**
   * By the names of the nodes' databases: one JVM may have several nodes. Empty: its service
   * starts.
   */
  private static final Map<String, Optional<SqlPredictions>> NODES = new ConcurrentHashMap<>();

  private static final StartingServers STARTING = new StartingServers();

  private final Ignite ignite;
  private final NodeTable nodes;
  private final PlainPredictions predictions;
  private final String database;
  private volatile long completeSince = -1;

  private SqlPredictions(Ignite ignite, NodeTable nodes, PlainPredictions predictions) {
    this.ignite = ignite;
    this.nodes = nodes;
    this.predictions = predictions;
    this.database = database(ignite);
  }

  /** Says to all nodes that this server, which is to join, has the functions. */
  public static void announce(Ignite ignite) {
    LocalNode.addAttribute(ignite, ATTRIBUTE, true);
  }

  /** Creates the functions on a server; their calls wait for {@link #open}. */
  public static void expect(Ignite ignite) {
    createFunctions(ignite);
    NODES.putIfAbsent(database(ignite), Optional.empty());
  }

  /** Ends {@link #expect}, since the node stops. */
  public static void forget(Ignite ignite) {
    NODES.remove(database(ignite));
  }

  /**
   * Creates the functions, and answers them until it is closed; then they say that they are off.
   */
  public static SqlPredictions open(Ignite ignite, NodeTable nodes, PlainPredictions predictions) {
    createFunctions(ignite);
    SqlPredictions opened = new SqlPredictions(ignite, nodes, predictions);
    NODES.put(opened.database, Optional.of(opened));
    return opened;
  }

  /** Creates the functions, which the node of a query needs to read it; nothing without SQL. */
  public static void createFunctions(Ignite ignite) {
    if (!SqlEngine.isHere(ignite)) {
      return;
    }
    METHODS.forEach(
        (function, method) -> {
          try {
            SqlEngine.execute(
                ignite,
                SCHEMA,
                String.format(
                    "CREATE ALIAS IF NOT EXISTS %s FOR \"%s.%s\"",
                    function, TensorFlowFunctions.class.getName(), method));
          } catch (IgniteCheckedException e) {
            throw new IgniteException("The SQL function " + function + " cannot be created", e);
          }
        });
  }

  /**
   * The result of a function for one row.
   *
   * @param session of H2, which executes the query
   * @param model with the name of an output after a #; null: the result is null
   * @param values of the inputs; if one is null, the result is null
   * @throws SQLException with the text of our error, which H2 keeps as it is
   */
  static <R> R call(Session session, String model, Value[] values, Function<Tensor, R> result)
      throws SQLException {
    session.checkCanceled();
    if (model == null) {
      return null;
    }
    List<Object> arguments = new ArrayList<>(values.length);
    for (Value value : values) {
      if (value.getType() == Value.NULL) {
        return null;
      }
      arguments.add(value.getObject());
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millisLeft(session));
    try {
      return result.apply(node(session, deadline).predict(model, arguments, deadline));
    } catch (TensorFlowIgniteException e) {
      session.checkCanceled();
      throw new SQLException(e.description(), e);
    }
  }

  /** The node of a session; waits for its service if that starts. */
  private static SqlPredictions node(Session session, long deadline) {
    String database = session.getDatabase().getName();
    Optional<SqlPredictions> node = NODES.get(database);
    while (node != null
        && node.isEmpty()
        && STARTING.areAwaited(List.of(database), System.nanoTime())) {
      if (isOver(deadline)) {
        throw notStarted(List.of(MessageText.shortId(database.substring(MEMORY.length()))));
      }
      pause();
      node = NODES.get(database);
    }
    if (node == null || node.isEmpty()) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_MODEL_NOT_SERVED,
          "TF_PREDICT was called on a node that does not predict. The service (TensorFlowService,"
              + " property sqlFunctions) does, on server nodes, while it runs. Query a cache, so"
              + " that the servers with its rows predict them, or wait until the service runs; see:"
              + " tensorflow-ignite nodes");
    }
    return node.get();
  }

  /** H2 has the moment at which the query ends, as of System.nanoTime; 0: it has no timeout. */
  static long millisLeft(Session session) {
    long end = session.getCancel();
    if (end == 0) {
      return TIMEOUT_MS;
    }
    // A prediction that ends late must find its query ended, which then says that it was cancelled.
    long millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
    return Math.max(1, Math.min(TIMEOUT_MS, millis) + PlainPredictions.EARLY_MS);
  }

  private Tensor predict(String model, List<Object> values, long deadline) {
    awaitServiceOnAllServers(deadline);
    long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    long timeoutMillis = Math.max(1, millis);
    int output = model.indexOf('#');
    return output < 0
        ? predictions.predictRow(model, "", values, timeoutMillis)
        : predictions.predictRow(
            model.substring(0, output), model.substring(output + 1), values, timeoutMillis);
  }

  /**
   * A query runs on all servers that have its rows; one without the function would fail it. A
   * server that has joined may have rows before its service runs: it is waited for.
   */
  private void awaitServiceOnAllServers(long deadline) {
    long version = ignite.cluster().topologyVersion();
    while (version != completeSince) {
      List<ClusterNode> without =
          ignite.cluster().forServers().nodes().stream()
              .filter(node -> nodes.get(node.id().toString()).isEmpty())
              .collect(Collectors.toList());
      if (without.isEmpty()) {
        completeSince = version;
        STARTING.clear();
        return;
      }
      if (!areAwaited(without)) {
        throw invalidRequest(
            "TF_PREDICT is refused, since these server nodes do not run the service: %s. Any server"
                + " may get a part of a query, and only those with the service have the function."
                + " Add our jar and the bean to these nodes, or see their logs if they have both,"
                + " or use tensorflow-ignite predict.",
            shortIds(without));
      }
      if (isOver(deadline)) {
        throw notStarted(shortIds(without));
      }
      pause();
      version = ignite.cluster().topologyVersion();
    }
  }

  private static boolean areAwaited(List<ClusterNode> servers) {
    return servers.stream().allMatch(node -> node.attribute(ATTRIBUTE) != null)
        && STARTING.areAwaited(
            servers.stream().map(node -> MEMORY + node.id()).collect(Collectors.toList()),
            System.nanoTime());
  }

  private static List<String> shortIds(List<ClusterNode> servers) {
    return servers.stream()
        .map(node -> MessageText.shortId(node.id().toString()))
        .sorted()
        .collect(Collectors.toList());
  }

  private static TensorFlowIgniteException notStarted(List<String> servers) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_MODEL_NOT_SERVED,
        "TF_PREDICT has waited in vain for the service of these server nodes: %s. A server that has"
            + " just joined starts it some seconds later, and a prediction waits for that for %d s,"
            + " or for what the timeout of its query leaves. Query again; see: tensorflow-ignite"
            + " nodes",
        servers,
        TimeUnit.MILLISECONDS.toSeconds(TIMEOUT_MS));
  }

  private static boolean isOver(long deadline) {
    return System.nanoTime() - deadline >= 0;
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TensorFlowIgniteException(
          ERROR_CODE_MODEL_NOT_SERVED,
          "The prediction was interrupted, since its node stops. Query another node.",
          e);
    }
  }

  private static String database(Ignite ignite) {
    return MEMORY + LocalNode.id(ignite);
  }

  @Override
  public void close() {
    NODES.remove(database, Optional.of(this));
  }
}
