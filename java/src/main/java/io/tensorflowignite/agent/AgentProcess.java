package io.tensorflowignite.agent;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.tensorflowignite.v1.AgentReady;
import io.tensorflowignite.v1.AgentStart;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.apache.ignite.IgniteLogger;

/**
 * One process of {@code python -m tensorflow_ignite.agent}. The agent ends when its standard input
 * is closed. It gets its settings through standard input, so that command line and environment have
 * no secret.
 */
final class AgentProcess implements AutoCloseable {
  private static final long READY_TIMEOUT_S = 30;
  private static final long END_TIMEOUT_S = 15;
  private static final long LAST_LINE_TIMEOUT_S = 2;

  /** Variables with the node's own credentials, which its agent and tasks must not have. */
  private static final Pattern NODES_SECRET =
      Pattern.compile("(TENSORFLOW_IGNITE|IGNITE_DATASET)_.*(PASSWORD|TOKEN|SECRET|KEY).*");

  private final Process process;
  private final AgentReady ready;

  private AgentProcess(Process process, AgentReady ready) {
    this.process = process;
    this.ready = ready;
  }

  /** Starts the agent and waits until it answers. The calling thread must outlive the agent. */
  static AgentProcess start(String python, AgentStart start, IgniteLogger log) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "tensorflow_ignite.agent");
    builder.environment().keySet().removeIf(name -> NODES_SECRET.matcher(name).matches());
    Process process = builder.start();
    StringBuffer errors = new StringBuffer();
    Thread forwarding = forward(process, log, errors);
    try {
      process.getOutputStream().write((line(start) + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
      return new AgentProcess(process, readReady(process));
    } catch (IOException | TimeoutException | ExecutionException e) {
      end(process);
      awaitLastLine(forwarding);
      throw new IOException(
          "'" + python + " -m tensorflow_ignite.agent' did not come up: " + reason(e, errors), e);
    } catch (InterruptedException e) {
      end(process);
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the agent came up", e);
    }
  }

  AgentReady ready() {
    return ready;
  }

  /** Completes when the agent has ended for any reason. */
  CompletableFuture<Process> onExit() {
    return process.onExit();
  }

  /** Ends an agent that does not answer; the keepers of its tasks end these. */
  void kill() {
    process.destroyForcibly();
  }

  /** Closes the agent's input, which ends its tasks and itself; returns when it has ended. */
  @Override
  public void close() {
    end(process);
  }

  private static void end(Process process) {
    closeInput(process);
    boolean interrupted = Thread.interrupted();
    try {
      if (!process.waitFor(END_TIMEOUT_S, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void closeInput(Process process) {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      // The pipe is broken: the agent has ended already, or will be ended by force. Its last line
      // is still to be read: Process.destroy() would close its output too.
      process.toHandle().destroy();
    }
  }

  private static String line(AgentStart start) throws InvalidProtocolBufferException {
    return JsonFormat.printer().omittingInsignificantWhitespace().print(start);
  }

  private static AgentReady readReady(Process process)
      throws InterruptedException, ExecutionException, TimeoutException {
    CompletableFuture<AgentReady> ready = new CompletableFuture<>();
    daemon(
        "tensorflow-ignite-agent-stdout",
        () -> {
          try (BufferedReader lines = reader(process.getInputStream())) {
            String first = lines.readLine();
            if (first == null) {
              throw new IOException("the agent ended at once");
            }
            AgentReady.Builder message = AgentReady.newBuilder();
            JsonFormat.parser().ignoringUnknownFields().merge(first, message);
            ready.complete(message.build());
            while (lines.readLine() != null) {
              // A stray line of the agent must not block it.
              continue;
            }
          } catch (IOException e) {
            ready.completeExceptionally(e);
          }
        });
    return ready.get(READY_TIMEOUT_S, TimeUnit.SECONDS);
  }

  private static Thread forward(Process process, IgniteLogger log, StringBuffer errors) {
    return daemon(
        "tensorflow-ignite-agent-stderr",
        () -> {
          try (BufferedReader lines = reader(process.getErrorStream())) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
              log.warning("Agent: " + line + " [pid=" + process.pid() + "]");
              if (!line.isBlank()) {
                errors.setLength(0);
                errors.append(line.trim());
              }
            }
          } catch (IOException e) {
            log.debug(
                "The agent's error stream ended [pid=" + process.pid() + ", reason=" + e + "]");
          }
        });
  }

  private static String reason(Exception e, StringBuffer errors) {
    if (e instanceof TimeoutException) {
      return "no answer within " + READY_TIMEOUT_S + " s";
    }
    String last = errors.toString();
    return last.isEmpty() ? String.valueOf(e.getMessage()) : last;
  }

  private static BufferedReader reader(InputStream in) {
    return new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
  }

  /** The process has ended; a process that it has started may keep its error stream open. */
  private static void awaitLastLine(Thread forwarding) {
    try {
      forwarding.join(TimeUnit.SECONDS.toMillis(LAST_LINE_TIMEOUT_S));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Thread daemon(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }
}
