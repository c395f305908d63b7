package io.tensorflowignite.job;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A node of a later version in a process of its own: its contract (gradle/later.gradle) has more
 * states, phases and fields. It writes a row with them, and ends at the end of its standard input.
 */
final class LaterNode implements AutoCloseable {
  private static final long TIMEOUT_S = 30;

  private final Process process;
  private final Path written;

  private LaterNode(Process process, Path written) {
    this.process = process;
    this.written = written;
  }

  /** host:port of its API. */
  String address() throws IOException {
    return Files.readString(written);
  }

  /** Starts the process; returns when its node has written the row. */
  static LaterNode start(LoopbackNodes nodes, Path folder) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    Files.readAllLines(Path.of("java/config/add-opens.txt")).forEach(command::add);
    command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.add("-Djava.net.preferIPv4Stack=true");
    command.add("-cp");
    command.add(
        System.getProperty("tensorflow.ignite.test.later")
            + File.pathSeparator
            + System.getProperty("java.class.path"));
    command.add(LaterNode.class.getName());
    command.add(nodes.toString());
    command.add(folder.toString());
    Path output = folder.resolve("output");
    Path written = folder.resolve("written");
    LaterNode node =
        new LaterNode(
            new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start(),
            written);
    try {
      Await.until(
          "the node of the later version has written its row",
          () -> Files.exists(written) || !node.process.isAlive());
      if (!Files.exists(written)) {
        throw new AssertionError(Files.readString(output));
      }
      return node;
    } catch (AssertionError | IOException e) {
      node.process.destroyForcibly();
      throw e;
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.getOutputStream().close();
    if (!process.waitFor(TIMEOUT_S, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
  }

  /** The process of a later version. Arguments: the cluster's nodes, a folder. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[1]);
    try (RowsNode node = new RowsNode(LoopbackNodes.parse(arguments[0]), "later", folder)) {
      FieldDescriptor note = Job.getDescriptor().findFieldByName("later_note");
      Job job =
          Job.newBuilder()
              .setId("later000")
              .setState(JobState.valueOf("JOB_STATE_SUSPENDED"))
              .setField(note, "kept")
              .addAttempts(
                  Attempt.newBuilder()
                      .setNumber(1)
                      .setPhase(AttemptPhase.valueOf("ATTEMPT_PHASE_DRAIN")))
              .build();
      node.raw(SystemCache.JOBS).put(job.getId(), job.toByteArray());
      Path address = Files.writeString(folder.resolve("part"), NodeService.address(node.ignite));
      Files.move(address, folder.resolve("written"), StandardCopyOption.ATOMIC_MOVE);
      while (System.in.read() >= 0) {
        continue;
      }
    }
    System.exit(0);
  }
}
