package io.tensorflowignite;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.rules.ExternalResource;

/** Settings of our service on nodes that a test starts; they end with the test. */
public final class ServiceSettings extends ExternalResource {
  private static final String PREFIX = "tensorflow.ignite.";

  private final Map<String, String> settings = new TreeMap<>();
  private final Set<Thread> present = new HashSet<>();

  /** A node on loopback, at a free port, with this interpreter for tasks. */
  public ServiceSettings(String python) {
    with("python", python).with("port", "0").with("host", "127.0.0.1");
  }

  /** An interpreter that lacks our package: so the node has no agent. */
  public static ServiceSettings withoutPackage() {
    try {
      Path python = Files.createTempFile("python", "");
      python.toFile().deleteOnExit();
      Files.writeString(python, "#!/bin/sh\nexec python3 -IS \"$@\"\n");
      python.toFile().setExecutable(true);
      return new ServiceSettings(python.toString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public ServiceSettings with(String name, String value) {
    settings.put(PREFIX + name, value);
    return this;
  }

  /** Makes them those of the nodes that start from now on. */
  @Override
  public void before() {
    present.addAll(serviceThreads());
    settings.forEach(System::setProperty);
  }

  @Override
  public void after() {
    settings.keySet().forEach(System::clearProperty);
  }

  /** Fails if threads of services go on although their nodes are closed. */
  public void awaitNoThreads() {
    AtomicReference<List<String>> left = new AtomicReference<>();
    try {
      Await.until(
          "the threads end",
          () -> {
            left.set(
                serviceThreads().stream()
                    .filter(thread -> !present.contains(thread))
                    .map(thread -> thread + " in " + Arrays.toString(thread.getStackTrace()))
                    .collect(Collectors.toList()));
            return left.get().isEmpty();
          });
    } catch (AssertionError late) {
      throw new AssertionError("threads of the service are left: " + left, late);
    }
  }

  private static Set<Thread> serviceThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("tensorflow-ignite-"))
        .collect(Collectors.toSet());
  }
}
