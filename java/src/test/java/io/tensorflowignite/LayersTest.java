package io.tensorflowignite;

import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
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
}
