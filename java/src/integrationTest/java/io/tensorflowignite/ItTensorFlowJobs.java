package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import io.tensorflowignite.v1.NodeApiServiceGrpc.NodeApiServiceBlockingStub;
import io.tensorflowignite.v1.SubmitJobRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/**
 * The Ignite service for jobs, on nodes whose tasks run scripts without TensorFlow: a client node
 * and a thin client submit, follow and stop jobs.
 */
@Category(Full.class)
public class ItTensorFlowJobs {
  private static final int NODES = 2;
  private static final int PORTS = 10;
  private static final int LINES = 40_000;
  private static final long TIMEOUT_S = 180;
  private static final String PYTHON = Paths.get(".venv/bin/python").toAbsolutePath().toString();

  /** More than one part of output. */
  private static final String LONG_OUTPUT =
      String.join(
          "\n",
          "import sys",
          "import greeting",
          "print(greeting.TEXT, *sys.argv[1:])",
          "for number in range(" + LINES + "):",
          "    print('line', number, 'ä')");

  private static final String ENDLESS =
      "import signal\nprint('begun', flush=True)\nsignal.pause()\n";

  /** Values of Python for what a job does not set. */
  private static final Set<String> DEFAULTS =
      Set.of("null", "false", "0", "0.0", "\"\"", "[]", "{}", "\"restart\"", "\"majority\"");

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();
  @ClassRule public static final ServiceSettings SETTINGS = new ServiceSettings(PYTHON);

  private static final List<Ignite> STARTED = new ArrayList<>();
  private static Ignite client;
  private static IgniteClient thin;
  private static ManagedChannel channel;

  @BeforeClass
  public static void startNodes() throws IOException {
    int thinPort = FreePorts.claim(NODES + 1);
    LoopbackNodes loopback = new LoopbackNodes(PORTS);
    for (int i = 0; i < NODES; i++) {
      STARTED.add(
          Ignition.start(
              configuration(loopback, "jobs-" + i)
                  .setClientConnectorConfiguration(
                      new ClientConnectorConfiguration()
                          .setHost("127.0.0.1")
                          .setPort(thinPort)
                          .setPortRange(NODES))
                  .setServiceConfiguration(NodeService.of(new TensorFlowService()))));
    }
    for (Ignite node : STARTED) {
      NodeService.address(node);
    }
    client = Ignition.start(configuration(loopback, "jobs-client").setClientMode(true));
    thin = Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + thinPort));
    channel =
        NettyChannelBuilder.forTarget(NodeService.address(STARTED.get(0))).usePlaintext().build();
    for (int key = 0; key < 100; key++) {
      client.getOrCreateCache("rows").put(key, key);
    }
  }

  @AfterClass
  public static void stopNodes() throws InterruptedException {
    assertTrue(channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
    thin.close();
    client.close();
    STARTED.forEach(Ignite::close);
    SETTINGS.awaitNoThreads();
  }

  @Test
  public void aClientNodeSubmitsAJobAndReadsItsOutputInParts() throws Exception {
    TensorFlowJobs jobs = thick();
    String id =
        submit(
            jobs,
            Map.of(
                "main.py",
                LONG_OUTPUT,
                "greeting.py",
                "TEXT = 'grüß'".getBytes(StandardCharsets.UTF_8)),
            Map.of("cache", "rows", "strategy", "custom", "args", List.of("--n", 3)),
            "long output");
    String expected =
        "grüß --n 3\n"
            + IntStream.range(0, LINES)
                .mapToObj(number -> "line " + number + " ä\n")
                .collect(Collectors.joining());
    assertEquals(expected, follow(jobs, id, "worker:0", null));
    assertEquals(expected, follow(thin(), id, "worker:1", null));
    assertEquals("", follow(jobs, id, "worker:2", null));
    assertEquals("succeeded", TensorFlowJobs.await(jobs, id, TimeUnit.SECONDS.toMillis(TIMEOUT_S)));
    assertTrue(ids(jobs.list(100)).contains(id));
    assertEquals(1, jobs.list(1).size());
    assertAsInPython(jobs.describe(id));
  }

  @Test
  public void aThinClientStopsAJobThatItHasSubmittedTwice() throws InterruptedException {
    TensorFlowJobs jobs = thin();
    Map<String, String> files = Map.of("wait.py", ENDLESS);
    Map<String, Object> options =
        Map.of("cache", "rows", "strategy.kind", "one", "name", "endless");
    String request = UUID.randomUUID().toString();
    String id = submit(jobs, files, options, request);
    assertEquals(id, thick().submit(files, options, request));
    assertEquals("begun\n", follow(jobs, id, "worker:0", "begun\n"));
    assertEquals("running", jobs.state(id.substring(0, 4)));
    assertEquals("endless", ((Map<?, ?>) jobs.describe(id).get("spec")).get("name"));
    assertFalse(TensorFlowJobs.isOver(jobs.stop(id)));
    assertEquals("stopped", TensorFlowJobs.await(jobs, id, TimeUnit.SECONDS.toMillis(TIMEOUT_S)));
    assertEquals("begun\n", follow(jobs, id, "worker:0", null));
  }

  @Test
  public void badInputHasTheErrorOfGrpc() {
    NodeApiServiceBlockingStub api = NodeApiServiceGrpc.newBlockingStub(channel);
    JobSpec.Builder spec = JobSpec.newBuilder().setScript("a.py").setName("a");
    spec.getStrategyBuilder().setKind(JobKind.JOB_KIND_ONE);
    for (TensorFlowJobs jobs : List.of(thick(), thin())) {
      String name = "n".repeat(201);
      same(
          () -> api.submitJob(request(spec.clone().setName(name).setCache("rows"))),
          () -> submit(jobs, Map.of("cache", "rows", "name", name)));
      same(
          () -> api.submitJob(request(spec.clone().setCache("none"))),
          () -> submit(jobs, Map.of("cache", "none")));
      same(
          () -> api.submitJob(request(spec.clone().setCache("rows").setReadRate("fast"))),
          () -> submit(jobs, Map.of("cache", "rows", "read_rate", "fast")));
      same(
          () -> api.getJob(GetJobRequest.newBuilder().setJobId("abcdef").build()),
          () -> jobs.describe("abcdef"));
      String unknown = failure(() -> submit(jobs, Map.of("cash", "rows")));
      assertTrue(unknown, unknown.contains("cash is no option of a job"));
      assertTrue(unknown, unknown.contains("[code=INVALID_REQUEST]"));
    }
  }

  /** A node may have no agent yet. */
  private static String submit(
      TensorFlowJobs jobs, Map<String, ?> files, Map<String, ?> options, String request) {
    return Await.nonNull(
        "a node can run tasks",
        () -> {
          try {
            return jobs.submit(files, options, request);
          } catch (RuntimeException e) {
            if (texts(e).contains("[code=NO_AGENT]")) {
              return null;
            }
            throw e;
          }
        });
  }

  private static String submit(TensorFlowJobs jobs, Map<String, ?> options) {
    Map<String, Object> all = new HashMap<>(options);
    all.put("strategy", "one");
    return jobs.submit(Map.of("a.py", ""), all);
  }

  private static SubmitJobRequest request(JobSpec.Builder spec) {
    return SubmitJobRequest.newBuilder().setRequestId("bad").setSpec(spec).build();
  }

  /** The output until it is complete, or until it is a given text. */
  private static String follow(TensorFlowJobs jobs, String id, String task, String end) {
    StringBuilder text = new StringBuilder();
    String position = "";
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_S);
    while (System.nanoTime() < deadline) {
      Map<String, Object> part = jobs.output(id, task, position);
      String more = (String) part.get("text");
      assertTrue(more.getBytes(StandardCharsets.UTF_8).length <= TensorFlowJobs.MAX_OUTPUT_BYTES);
      assertEquals(0L, part.get("droppedBytes"));
      text.append(more);
      if ((Boolean) part.get("complete") || text.toString().equals(end)) {
        return text.toString();
      }
      if (more.isEmpty()) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      } else {
        assertNotEquals(position, part.get("position"));
      }
      position = (String) part.get("position");
    }
    throw new AssertionError("the output is not complete: " + jobs.describe(id));
  }

  private static List<Object> ids(List<Map<String, Object>> jobs) {
    return jobs.stream().map(job -> job.get("id")).collect(Collectors.toList());
  }

  private static void assertAsInPython(Map<String, Object> job) throws IOException {
    Process python =
        new ProcessBuilder(
                PYTHON,
                "-m",
                "tensorflow_ignite.cli",
                "describe",
                "--json",
                "--address",
                NodeService.address(STARTED.get(0)),
                (String) job.get("id"))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String text = new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertSame("job", JsonParser.parseString(text), new Gson().toJsonTree(job));
  }

  /** Requires the same values, but for those that Java leaves out. */
  private static void assertSame(String name, JsonElement python, JsonElement java) {
    if (java == null) {
      assertTrue(name + " is left out: " + python, isDefault(python));
    } else if (java.isJsonObject() && python.isJsonObject()) {
      for (String key : java.getAsJsonObject().keySet()) {
        assertTrue(name + "." + key + " is of Java alone", python.getAsJsonObject().has(key));
      }
      for (Map.Entry<String, JsonElement> each : python.getAsJsonObject().entrySet()) {
        JsonElement other = java.getAsJsonObject().get(each.getKey());
        assertSame(name + "." + each.getKey(), each.getValue(), other);
      }
    } else if (java.isJsonArray() && python.isJsonArray()) {
      JsonArray all = java.getAsJsonArray();
      assertEquals(name, python.getAsJsonArray().size(), all.size());
      for (int i = 0; i < all.size(); i++) {
        assertSame(name + "[" + i + "]", python.getAsJsonArray().get(i), all.get(i));
      }
    } else {
      assertEquals(name, python, java);
    }
  }

  private static boolean isDefault(JsonElement value) {
    return DEFAULTS.contains(value.toString())
        || (value.isJsonObject()
            && value.getAsJsonObject().entrySet().stream()
                .allMatch(each -> isDefault(each.getValue())));
  }

  private static void same(ThrowingRunnable grpc, ThrowingRunnable plain) {
    String expected = assertThrows(StatusRuntimeException.class, grpc).getStatus().getDescription();
    String text = failure(plain);
    assertTrue(expected + "\nbut\n" + text, text.contains(expected));
  }

  private static String failure(ThrowingRunnable call) {
    return texts(assertThrows(RuntimeException.class, call));
  }

  private static String texts(Throwable failure) {
    StringBuilder texts = new StringBuilder();
    for (Throwable each = failure; each != null; each = each.getCause()) {
      texts.append(each.getMessage()).append('\n');
    }
    return texts.toString();
  }

  private static TensorFlowJobs thick() {
    return client.services().serviceProxy(TensorFlowService.NAME, TensorFlowJobs.class, false);
  }

  private static TensorFlowJobs thin() {
    return thin.services().serviceProxy(TensorFlowService.NAME, TensorFlowJobs.class);
  }

  private static IgniteConfiguration configuration(LoopbackNodes loopback, String name) {
    return loopback.configuration(name, FOLDER.getRoot().toPath());
  }
}
