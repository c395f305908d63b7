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

public class LayersTest {
  private static final Path SOURCES = Paths.get("java/src/main/java");
  private static final String TABLE =
      "<!-- layers: java -->\n"
          + "| layer | package | concern | uses |\n"
          + "| --- | --- | --- | --- |\n"
          + "| 1 | `v1` | generated | `io.grpc` |\n"
          + "| 2 | `base` | texts | nothing |\n"
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
  public void whatKeepsToTheTableIsNoFault() {
    assertEquals(Collections.emptyList(), faults("decide/Good", "class Good {}"));
    assertEquals(
        Collections.emptyList(),
        faults("decide/Good", "import io.tensorflowignite.base.MessageText; // System.nanoTime()"));
    assertEquals(
        Collections.emptyList(),
        faults("decide/Good", "/* a Thread */ String s = \"new Socket(\\\" //\"; char c = '\"';"));
  }

  @Test
  public void arrowsUpwardsAndSidewaysAreFaults() {
    assertFault("base (layer 2) may import", "base/Bad", "import io.tensorflowignite.net.Calls;");
    assertFault("is in layer 3", "decide/Bad", "import io.tensorflowignite.net.Calls;");
    assertFault("is in layer 4", "net/Bad", "import static io.tensorflowignite.Bean.name;");
  }

  @Test
  public void fullyQualifiedNamesAreArrowsToo() {
    assertFault("is in layer 4", "net/Bad", "Object bean = new io.tensorflowignite.Bean();");
    assertFault("is in layer 4", "net/Bad", "Object bean = new io.tensorflowignite\n    .Bean();");
    assertFault("uses io.grpc.Status", "decide/Bad", "Object s = io.grpc.Status.OK;");
  }

  @Test
  public void namesOfClassesInStringsAreArrowsToo() {
    assertFault("is in layer 4", "net/Bad", "Class.forName(\"io.tensorflowignite.Bean\")");
    assertFault("is in layer 3", "base/Bad", "load(\"io.tensorflowignite.net.Calls$Inner\")");
  }

  @Test
  public void oneOfTwoPackagesInACircleIsAtFault() {
    Map<String, String> circle = new HashMap<>();
    circle.put("net/One", "import io.tensorflowignite.base.Two;");
    circle.put("base/Two", "import io.tensorflowignite.net.One;");
    assertTrue(faults(circle).get(0), faults(circle).get(0).contains("base/Two.java uses"));
  }

  @Test
  public void aPackageWithoutARowIsAFault() {
    assertFault("which no layer has", "other/Bad", "class Bad {}");
    assertFault("no layer has", "net/Bad", "import io.tensorflowignite.other.Bad;");
  }

  @Test
  public void foreignApisOutsideTheirPackagesAreFaults() {
    assertFault("uses io.grpc.Status", "base/Bad", "import io.grpc.Status;");
    assertFault("may use io.grpc.", "net/Bad", "import org.apache.ignite.Ignite;");
    assertFault("uses javax.net.ssl.*", "net/Bad", "import javax.net.ssl.*;");
    assertFault("uses kotlin.Unit", "net/Bad", "import kotlin.Unit;");
  }

  @Test
  public void clocksAndThreadsInAPurePackageAreFaults() {
    for (String impure :
        List.of(
            "long now = System.currentTimeMillis();",
            "LongSupplier clock = System::nanoTime;",
            "Object now = java.time.Instant.now();",
            "import static java.lang.System.*; long now = nanoTime();",
            "Object now = new java.util.Date();",
            "Object now = java.util.Calendar.getInstance();",
            "import com.google.common.base.Stopwatch;",
            "import com.google.common.cache.CacheBuilder;",
            "import com.google.common.util.concurrent.Uninterruptibles;",
            "Object later = Suppliers.memoizeWithExpiration(supplier, 1, SECONDS);",
            "TimeUnit.SECONDS.sleep(1);",
            "monitor.wait();",
            "import java.time.Clock;",
            "import java.util.concurrent.Executors;",
            "new Thread(body).start();",
            "synchronized void step() {}")) {
      assertFault("is pure", "decide/Bad", impure);
      assertEquals(impure, Collections.emptyList(), faults("net/Good", impure));
    }
    assertEquals(
        Collections.emptyList(), faults("decide/Good", "import java.util.concurrent.TimeUnit;"));
  }

  @Test
  public void aPurePackageUsesNoClockOfALowerLayer() {
    assertFault("which knows a clock", "decide/Bad", "import io.tensorflowignite.base.Timed;");
    assertFault("or gRPC", "decide/Bad", "import io.tensorflowignite.v1.JobServiceGrpc;");
  }

  @Test
  public void connectionsProcessesAndServicesElsewhereAreFaults() {
    for (String opening :
        List.of(
            "new Socket(host, port)",
            "new java.net.ServerSocket(0)",
            "SocketChannel.open()",
            "ServerSocketChannel.open()",
            "AsynchronousSocketChannel.open()",
            "Supplier<Socket> sockets = Socket::new;",
            "class Tunnel extends Socket {}",
            "SelectorProvider.provider().openSocketChannel()",
            "new URL(address).openStream()",
            "address.isReachable(timeout)",
            "DriverManager.getConnection(url)",
            "import java.rmi.registry.LocateRegistry;",
            "NettyChannelBuilder.forAddress(address)")) {
      assertFault("opens connections by", "base/Bad", opening);
      assertEquals(opening, Collections.emptyList(), faults("net/Good", opening));
    }
    for (String start :
        List.of(
            "new ProcessBuilder(command)",
            "new java.lang.ProcessBuilder(command)",
            "Function<List<String>, ProcessBuilder> start = ProcessBuilder::new;",
            "Runtime runtime = Runtime.getRuntime(); runtime.exec(command);")) {
      assertFault("starts processes", "base/Bad", start);
    }
    assertFault("implements a gRPC service", "base/Bad", "class Bad extends JobsImplBase {}");
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
