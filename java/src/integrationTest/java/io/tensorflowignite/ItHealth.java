package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** The health of real nodes, which have no agent here. */
@Category(Full.class)
public class ItHealth {
  private static final int NODES = 2;
  private static final int PORT = port();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule
  public static final ServiceSettings SETTINGS =
      ServiceSettings.withoutPackage().with("http.port", PORT + ".." + (PORT + NODES - 1));

  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @Test
  @SuppressWarnings("deprecation") // The delay of copies, which Ignite has no other means for.
  public void aNodeThatJoinsIsNotReadyUntilItHasItsCopies() throws Exception {
    LoopbackNodes nodes = new LoopbackNodes(NODES);
    try (Ignite first = start(nodes, "first")) {
      IgniteCache<Integer, Integer> cache =
          first.createCache(
              new CacheConfiguration<Integer, Integer>("rows")
                  .setBackups(1)
                  // Copies are made on request.
                  .setRebalanceDelay(-1));
      cache.put(1, 1);
      assertEquals("the node is in use", check(PORT, "use").get("reason").getAsString());
      assertTrue(isOk(PORT, "partitions"));
      assertFalse("the node has no agent", isOk(PORT, "agent"));
      assertEquals(503, get(PORT, "ready").statusCode());
      assertEquals(200, get(PORT, "live").statusCode());
      try (Ignite second = start(nodes, "second")) {
        // The service's own caches are copied too.
        String waits = "the node waits for copies of partitions of 1 groups of caches";
        Await.until(
            "only the copies of `rows` are missing",
            () -> check(PORT + 1, "partitions").get("reason").getAsString().equals(waits));
        assertFalse(isOk(PORT + 1, "partitions"));
        assertTrue("of its own copies only", isOk(PORT, "partitions"));
        second.cache("rows").rebalance().get();
        Await.until("the copies are complete", () -> isOk(PORT + 1, "partitions"));
      }
    }
    SETTINGS.awaitNoThreads();
  }

  @Test
  public void aNodeIsLiveAndNotReadyUntilItsClusterIsActive() throws Exception {
    IgniteConfiguration configuration = configuration(new LoopbackNodes(1), "disk");
    configuration.setDataStorageConfiguration(
        LoopbackNodes.storage(
            new DataRegionConfiguration().setMaxSize(256L << 20).setPersistenceEnabled(true)));
    try (Ignite node = Ignition.start(configuration)) {
      assertEquals(200, get(PORT, "live").statusCode());
      JsonObject cluster = check(PORT, "cluster");
      assertTrue(
          cluster.toString(),
          cluster.get("reason").getAsString().startsWith("The cluster is not active since "));
      HttpResponse<String> metrics =
          CLIENT.send(request(PORT, "/metrics"), HttpResponse.BodyHandlers.ofString());
      assertEquals(503, metrics.statusCode());
      node.cluster().state(ClusterState.ACTIVE);
      NodeService.address(node);
      assertTrue(isOk(PORT, "use"));
    }
    SETTINGS.awaitNoThreads();
  }

  private static Ignite start(LoopbackNodes nodes, String name) {
    Ignite node = Ignition.start(configuration(nodes, name));
    NodeService.address(node);
    return node;
  }

  private static IgniteConfiguration configuration(LoopbackNodes nodes, String name) {
    return nodes
        .configuration(name, FOLDER.getRoot().toPath().resolve(name))
        .setServiceConfiguration(NodeService.of(new TensorFlowService()));
  }

  private static boolean isOk(int port, String name) {
    return check(port, name).get("ok").getAsBoolean();
  }

  private static JsonObject check(int port, String name) {
    JsonObject answer = JsonParser.parseString(get(port, "ready").body()).getAsJsonObject();
    for (JsonElement check : answer.getAsJsonArray("checks")) {
      if (check.getAsJsonObject().get("name").getAsString().equals(name)) {
        return check.getAsJsonObject();
      }
    }
    throw new AssertionError("no check " + name + " in " + answer);
  }

  private static HttpResponse<String> get(int port, String kind) {
    try {
      return CLIENT.send(request(port, "/health/" + kind), HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static HttpRequest request(int port, String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
  }

  private static int port() {
    try {
      return FreePorts.claim(NODES);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
