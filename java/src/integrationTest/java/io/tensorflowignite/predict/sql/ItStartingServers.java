package io.tensorflowignite.predict.sql;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.TensorFlowService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
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

  @Test
  public void queriesWaitForTheServiceOfAServerThatJoins() throws Exception {
    Path python = FOLDER.getRoot().toPath().resolve("python");
    Files.writeString(python, "#!/bin/sh\nexec python3 -IS \"$@\"\n");
    assertTrue(python.toFile().setExecutable(true));
    System.setProperty("tensorflow.ignite.python", python.toString());
    System.setProperty("tensorflow.ignite.host", "127.0.0.1");
    System.setProperty("tensorflow.ignite.port", "0");
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
        while (queries.get() < joined + 20) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
        // No interrupt: it would fail the query that runs.
        enough.set(true);
        caller.join();
      } finally {
        enough.set(true);
      }
      assertEquals(Set.of(ANSWER), answers);
    } finally {
      for (String name : List.of("python", "host", "port")) {
        System.clearProperty("tensorflow.ignite." + name);
      }
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
    bean.setWarmProcesses(0);
    return nodes
        .configuration(name, FOLDER.newFolder(name).toPath())
        .setServiceConfiguration(NodeService.of(bean));
  }
}
