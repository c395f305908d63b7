package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Test;

/**
 * Promise (code): A Java package imports lower layers alone, and a pure one uses no Ignite, gRPC,
 * clock or thread.
 */
public class LayersTest {
  private static final Path SOURCES = Paths.get("java/src/main/java");
  private static final String TABLE =
      "<!-- layers: java -->\n"
          + "| layer | package | concern | uses |\n"
          + "| --- | --- | --- | --- |\n"
          + "| 1 | `v1` | generated | `io.grpc` |\n"
          + "| 2 | `base` | texts | nothing |\n"
          + "| 2 | `ignite` | inside of Ignite | `org.apache.ignite` |\n"
          + "| 3 | `decide` | decisions | pure |\n"
          + "| 3 | `net` | calls | `io.grpc`, sockets, processes |\n"
          + "| 4 | `io.tensorflowignite` | the bean | `org.apache.ignite` |\n"
          + "<!-- end of the layers: java -->\n";

  @Test
  public void everySourceKeepsToTheLayersOfTheArchitecture() throws IOException {
    Map<String, String> sources = new TreeMap<>();
    try (Stream<Path> files = Files.walk(SOURCES)) {
      for (Path file :
          files
              .filter(path -> path.toString().endsWith(".java"))
              .filter(path -> !path.endsWith("package-info.java"))
              .collect(Collectors.toList())) {
        sources.put(SOURCES.relativize(file).toString(), Files.readString(file));
      }
    }
    assertTrue(sources.size() > 100);
    List<String> faults =
        new Layers(Files.readString(Paths.get("ARCHITECTURE.md"))).faults(sources);
    assertTrue(String.join("\n", faults), faults.isEmpty());
  }

  @Test
  public void commentsAndTextsAreNoFaults() {
    for (String good :
        List.of(
            "class Good {}",
            "import io.tensorflowignite.base.MessageText; // System.nanoTime()",
            "/* a Thread */ String s = \"new Socket(\\\" //\"; char c = '\"';",
            "import java.util.concurrent.TimeUnit;",
            "// As org.apache.ignite.internal.IgniteEx.")) {
      assertEquals(good, List.of(), faults("decide/Good", good));
    }
  }

  @Test
  public void whatDoesNotKeepToTheTableIsAFault() {
    String[][] faults = {
      {"base/Bad", "import io.tensorflowignite.net.Calls;", "base (layer 2) may import"},
      {"decide/Bad", "import io.tensorflowignite.net.Calls;", "is in layer 3"},
      {"net/Bad", "import static io.tensorflowignite.Bean.name;", "is in layer 4"},
      {"net/Bad", "Object bean = new io.tensorflowignite\n    .Bean();", "is in layer 4"},
      {"net/Bad", "Class.forName(\"io.tensorflowignite.Bean\")", "is in layer 4"},
      {"base/Bad", "load(\"io.tensorflowignite.net.Calls$Inner\")", "is in layer 3"},
      {"other/Bad", "class Bad {}", "which no layer has"},
      {"net/Bad", "import io.tensorflowignite.other.Bad;", "no layer has"},
      {"base/Bad", "import io.grpc.Status;", "uses io.grpc.Status"},
      {"decide/Bad", "Object s = io.grpc.Status.OK;", "uses io.grpc.Status"},
      {"net/Bad", "import org.apache.ignite.Ignite;", "may use io.grpc."},
      {"Bad", "import org.apache.ignite.internal.IgniteEx;", "which is inside of Ignite"},
      {"Bad", "import static org.apache.ignite.internal.util.typedef.X.cause;", "Only the package"},
      {"Bad", "Object x = (org.apache.ignite.internal.IgniteEx) y;", "inside of Ignite"},
      {"Bad", "import org.apache.ignite.internal.util.*;", "inside of Ignite"},
      {"Bad", "Class.forName(\"org.apache.ignite.internal.IgniteEx\")", "inside of Ignite"},
      {"net/Bad", "import javax.net.ssl.*;", "uses javax.net.ssl.*"},
      {"net/Bad", "import kotlin.Unit;", "uses kotlin.Unit"},
      {"decide/Bad", "import io.tensorflowignite.base.Timed;", "which knows a clock"},
      {"decide/Bad", "import io.tensorflowignite.v1.JobServiceGrpc;", "or gRPC"},
      {"base/Bad", "new java.lang.ProcessBuilder(command)", "starts processes"},
      {"base/Bad", "start = ProcessBuilder::new;", "starts processes"},
      {"base/Bad", "Runtime.getRuntime().exec(command);", "starts processes"},
      {"base/Bad", "class Bad extends JobsImplBase {}", "implements a gRPC service"},
    };
    for (String[] fault : faults) {
      assertFault(fault[2], fault[0], fault[1]);
    }
  }

  @Test
  public void clocksThreadsAndConnectionsElsewhereAreFaults() {
    for (String impure :
        List.of(
            "long now = System.currentTimeMillis();",
            "LongSupplier clock = System::nanoTime;",
            "Object now = java.time.Instant.now();",
            "Object now = new java.util.Date();",
            "import com.google.common.cache.CacheBuilder;",
            "import com.google.common.util.concurrent.Uninterruptibles;",
            "TimeUnit.SECONDS.sleep(1);",
            "import java.util.concurrent.Executors;",
            "new Thread(body).start();",
            "synchronized void step() {}")) {
      assertFault("is pure", "decide/Bad", impure);
      assertEquals(impure, List.of(), faults("net/Good", impure));
    }
    for (String opening :
        List.of(
            "new java.net.ServerSocket(0)",
            "AsynchronousSocketChannel.open()",
            "Supplier<Socket> sockets = Socket::new;",
            "class Tunnel extends Socket {}",
            "new URL(address).openStream()",
            "DriverManager.getConnection(url)",
            "NettyChannelBuilder.forAddress(address)")) {
      assertFault("opens connections by", "base/Bad", opening);
      assertEquals(opening, List.of(), faults("net/Good", opening));
    }
  }

  @Test
  public void rowsOfWhatIsNotThereAreFaults() {
    Layers layers = new Layers(TABLE);
    String all = String.join("\n", layers.faults(Collections.emptyMap()));
    assertTrue(all, all.contains("has a row for net, without classes"));
    Map<String, String> sources = new HashMap<>();
    sources.put("io/tensorflowignite/net/Calls.java", "import java.util.List;");
    all = String.join("\n", layers.faults(sources));
    assertTrue(all, all.contains("lets net use io.grpc, which it does not"));
  }

  private static void assertFault(String expected, String path, String source) {
    List<String> faults = faults(path, source);
    assertEquals(faults.toString(), 1, faults.size());
    assertTrue(faults.get(0), faults.get(0).contains(expected));
    assertTrue(faults.get(0), faults.get(0).startsWith("io/tensorflowignite/" + path + ".java "));
  }

  private static List<String> faults(String path, String source) {
    return faults(Collections.singletonMap(path, source));
  }

  /** Of these beside sources that keep to the table. */
  private static List<String> faults(Map<String, String> more) {
    Map<String, String> sources = new HashMap<>();
    sources.put("base/MessageText", "import java.util.List;");
    sources.put("base/Timed", "long now = System.nanoTime(); import java.util.List;");
    sources.put("ignite/Node", "import org.apache.ignite.internal.IgniteEx;");
    sources.put("decide/Machine", "import io.tensorflowignite.base.MessageText;");
    sources.put("net/Calls", "import io.grpc.Status; import io.tensorflowignite.v1.Job;");
    sources.put("Bean", "import org.apache.ignite.Ignite; import io.tensorflowignite.net.Calls;");
    sources.putAll(more);
    return new Layers(TABLE)
        .faults(
            sources.entrySet().stream()
                .collect(
                    Collectors.toMap(
                        entry -> "io/tensorflowignite/" + entry.getKey() + ".java",
                        Map.Entry::getValue)));
  }
}
