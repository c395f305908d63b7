package io.tensorflowignite.predict.sql;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowService;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Queries while a server joins; no model is deployed, which is the answer of each of them. */
public class ItStartingServers {
  private static final int PORTS = 10;
  private static final int ROWS = 200;
  private static final String ANSWER = "The model none is not deployed";

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  @Test
  public void queriesWaitForTheServiceOfAServerThatJoins() throws Exception {
    LoopbackNodes nodes = new LoopbackNodes(PORTS);
    try (Ignite first = Ignition.start(configuration("starting-0", nodes))) {
      NodeService.address(first);
      IgniteCache<Integer, Integer> rows =
          first.getOrCreateCache(
              new CacheConfiguration<Integer, Integer>("rows")
                  .setIndexedTypes(Integer.class, Integer.class));
      for (int key = 0; key < ROWS; key++) {
        rows.put(key, key);
      }
      Set<String> answers = new ConcurrentSkipListSet<>();
      AtomicInteger queries = new AtomicInteger();
      AtomicBoolean enough = new AtomicBoolean();
      Thread caller = new Thread(() -> query(first, answers, queries, enough));
      caller.start();
      try (Ignite second = Ignition.start(configuration("starting-1", nodes))) {
        NodeService.address(second);
        int joined = queries.get();
        Await.until("queries after it has joined", () -> queries.get() >= joined + 20);
        // No interrupt: it would fail the query that runs.
        enough.set(true);
        caller.join();
      } finally {
        enough.set(true);
      }
      assertEquals(Set.of(ANSWER), answers);
    }
  }

  private static void query(
      Ignite node, Set<String> answers, AtomicInteger count, AtomicBoolean enough) {
    SqlFieldsQuery query =
        new SqlFieldsQuery("SELECT PUBLIC.TF_PREDICT('none', _val) FROM Integer");
    while (!enough.get()) {
      try {
        answers.add(node.cache("rows").query(query).getAll().toString());
      } catch (CacheException e) {
        String text = String.valueOf(e.getMessage());
        // A machine may take longer to start the service than a query waits for it.
        if (!text.contains("has waited in vain for the service")) {
          answers.add(text.contains(ANSWER) ? ANSWER : text);
        }
      }
      count.incrementAndGet();
    }
  }

  private static IgniteConfiguration configuration(String name, LoopbackNodes nodes)
      throws IOException {
    TensorFlowService bean = new TensorFlowService();
    bean.setSqlFunctions(true);
    bean.getTasks().setWarmProcesses(0);
    return nodes
        .configuration(name, FOLDER.newFolder(name).toPath())
        .setServiceConfiguration(NodeService.of(bean));
  }
}
