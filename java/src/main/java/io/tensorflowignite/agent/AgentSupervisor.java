package io.tensorflowignite.agent;

import com.google.common.io.BaseEncoding;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.util.Durations;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.AgentStart;
import io.tensorflowignite.v1.HeartbeatRequest;
import io.tensorflowignite.v1.WatchResponse;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.IgniteLogger;

/**
 * Keeps one agent running on this node: starts it, renews its lease by heartbeats, forwards its
 * events, and starts another agent when it has ended. One thread starts all agents; the thread
 * lives as long as the service.
 */
public final class AgentSupervisor implements AutoCloseable {
  /** Called on the supervisor's threads. */
  public interface Listener {
    /**
     * An agent has started, or its spares have changed, or it could not be started. In the last
     * case the information has an error.
     */
    void agentChanged(AgentInfo info);

    /** The agent has ended, and all its tasks with it. */
    void agentLost(String reason);

    void event(WatchResponse event);

    /** The next heartbeat: the leases of all attempts with tasks on this node, and other nodes. */
    HeartbeatRequest heartbeat();
  }

  private static final Duration RESTART_PAUSE = Duration.ofSeconds(2);
  private static final Duration WATCH_PAUSE = Duration.ofMillis(500);

  /** Longer than the start and the end of an agent. */
  private static final long SILENCE_MS = 60_000;

  private static final int SILENT_LEASES = 3;

  /** An agent is killed after this number of leases without an answer: its lease has ended then. */
  private static final int LEASES_WITHOUT_ANSWER = 2;

  private static final int HEARTBEATS_IN_A_LEASE = 5;

  /** An agent without tasks gets every second heartbeat, which is enough for its lease. */
  private static final int HEARTBEAT_WITHOUT_TASKS = 2;

  private static final int SECRET_BYTES = 32;

  private final String python;
  private final AgentStart start;
  private final long leaseMs;
  private final Listener listener;
  private final IgniteLogger log;
  private final Loops loops;
  private final Loop loop;
  private final Thread thread;
  private volatile AgentConnection current;
  private volatile boolean closed;

  /**
   * @param start the agent's settings without the secret, which is new for each agent.
   */
  public AgentSupervisor(
      String python, AgentStart start, Listener listener, Loops loops, IgniteLogger log) {
    this.python = python;
    this.start = start;
    this.leaseMs = Durations.toMillis(start.getLeaseTimeout());
    this.listener = listener;
    this.log = log;
    this.loops = loops;
    this.loop =
        loops.continuous(
            "agent supervisor",
            Duration.ofMillis(Math.max(SILENCE_MS, SILENT_LEASES * leaseMs)),
            () -> closed);
    this.thread = new Thread(this::supervise, "tensorflow-ignite-agent-supervisor");
  }

  public void start() {
    thread.start();
  }

  Optional<AgentConnection> agent() {
    return Optional.ofNullable(current);
  }

  /** Returns when the agent and its tasks have ended. */
  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    Uninterruptibles.joinUninterruptibly(thread);
  }

  private void supervise() {
    loop.run(
        RESTART_PAUSE,
        () -> {
          runAgent();
          Thread.sleep(RESTART_PAUSE.toMillis());
        });
  }

  /** Starts an agent; returns when it has ended. */
  private void runAgent() throws InterruptedException {
    AgentStart withSecret = start.toBuilder().setSecret(secret()).build();
    try (AgentConnection agent = AgentConnection.open(python, withSecret, log)) {
      serve(agent);
    } catch (IOException e) {
      reportMissing(e.getMessage());
    } finally {
      current = null;
    }
  }

  private void reportMissing(String reason) {
    if (!closed) {
      log.warning("No agent on this node [python=" + python + ", reason=" + reason + "]");
      listener.agentChanged(AgentInfo.newBuilder().setPython(python).setError(reason).build());
    }
  }

  private void serve(AgentConnection agent) throws InterruptedException {
    Thread watcher = new Thread(() -> watch(agent), "tensorflow-ignite-agent-watch");
    watcher.start();
    current = agent;
    log.info(
        String.format(
            "Agent started [pid=%d, python=%s]", agent.info().getPid(), agent.info().getPython()));
    listener.agentChanged(agent.info());
    String end = "ended";
    try {
      if (!keepLease(agent)) {
        end = "did not answer for " + LEASES_WITHOUT_ANSWER * leaseMs / 1000 + " s, and was killed";
        log.error("Agent is killed [pid=" + agent.info().getPid() + ", reason=it " + end + "]");
        agent.kill();
      }
    } finally {
      // The listener gets the agent's last events before its end.
      if (!closed) {
        watcher.join(RESTART_PAUSE.toMillis());
        listener.agentLost("its agent (pid " + agent.info().getPid() + ") " + end);
      }
    }
  }

  /** Watches until the agent ends. A new watch repeats all events that the agent still knows. */
  private void watch(AgentConnection agent) {
    loops
        .continuous("events of the agent", null, agent::hasEnded)
        .run(
            WATCH_PAUSE,
            () -> {
              agent.watch(listener::event);
              agent.awaitEnd(WATCH_PAUSE.toMillis());
            });
  }

  /** Returns when the agent has ended, or false if it does not answer. */
  private boolean keepLease(AgentConnection agent) throws InterruptedException {
    boolean ended = false;
    long answeredAt = System.nanoTime();
    // After a pause of this JVM one call is late although the agent answers.
    int failures = 0;
    AgentInfo known = agent.info();
    for (int number = 0; !closed && !ended; number++) {
      loop.alive();
      HeartbeatRequest heartbeat = listener.heartbeat();
      if (heartbeat.getLeasesCount() == 0
          && failures == 0
          && number % HEARTBEAT_WITHOUT_TASKS != 0) {
        ended = agent.awaitEnd(leaseMs / HEARTBEATS_IN_A_LEASE);
        continue;
      }
      try {
        AgentInfo now = agent.heartbeat(heartbeat, leaseMs);
        answeredAt = System.nanoTime();
        failures = 0;
        if (now.getPid() != 0 && !now.equals(known)) {
          known = now;
          listener.agentChanged(now);
        }
      } catch (StatusRuntimeException e) {
        failures++;
        if (!closed) {
          log.warning("Agent did not answer a heartbeat [reason=" + e.getMessage() + "]");
        }
      }
      ended = agent.awaitEnd(leaseMs / HEARTBEATS_IN_A_LEASE);
      long silentMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - answeredAt);
      boolean silent = failures > 1 && silentMs >= LEASES_WITHOUT_ANSWER * leaseMs;
      if (!closed && !ended && silent) {
        return false;
      }
    }
    return true;
  }

  private static String secret() {
    byte[] bytes = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(bytes);
    return BaseEncoding.base16().lowerCase().encode(bytes);
  }
}
