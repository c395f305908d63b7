package io.tensorflowignite.agent;

import com.google.common.io.BaseEncoding;
import com.google.protobuf.util.Durations;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.AgentStart;
import io.tensorflowignite.v1.WatchResponse;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.ignite.IgniteLogger;

/**
 * Keeps one agent running on this node: starts it, keeps its lease by heartbeats, hands on what it
 * tells, and starts another one when it has ended. All agents are started by one thread that lives
 * as long as the service.
 */
public final class AgentSupervisor implements AutoCloseable {
  /** Told what agents do; on the supervisor's threads. */
  public interface Listener {
    /** An agent is up, or could not be started: the information says which. */
    void agentChanged(AgentInfo info);

    /** The agent has ended, and with it every task that it ran. */
    void agentLost(String reason);

    void event(WatchResponse event);
  }

  private static final long RESTART_PAUSE_MS = 2_000;
  private static final int HEARTBEATS_IN_A_LEASE = 5;
  private static final int SECRET_BYTES = 32;

  private final String python;
  private final AgentStart start;
  private final long leaseMs;
  private final Listener listener;
  private final IgniteLogger log;
  private final Thread thread;
  private volatile AgentConnection current;
  private volatile boolean closed;

  /**
   * @param start all that the agent is told at its start, but for the secret: each agent gets its
   *     own.
   */
  public AgentSupervisor(String python, AgentStart start, Listener listener, IgniteLogger log) {
    this.python = python;
    this.start = start;
    this.leaseMs = Durations.toMillis(start.getLeaseTimeout());
    this.listener = listener;
    this.log = log;
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
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void supervise() {
    while (!closed) {
      try {
        AgentStart withSecret = start.toBuilder().setSecret(secret()).build();
        try (AgentConnection agent = AgentConnection.open(python, withSecret, log)) {
          serve(agent);
        } finally {
          current = null;
        }
      } catch (IOException e) {
        log.warning("No agent on this node [python=" + python + ", reason=" + e.getMessage() + "]");
        listener.agentChanged(
            AgentInfo.newBuilder().setPython(python).setError(e.getMessage()).build());
      } catch (InterruptedException e) {
        break;
      }
      if (!closed) {
        pause();
      }
    }
  }

  private void serve(AgentConnection agent) throws InterruptedException {
    Thread watcher =
        new Thread(() -> agent.watch(listener::event), "tensorflow-ignite-agent-watch");
    watcher.start();
    current = agent;
    log.info(
        "Agent started [pid="
            + agent.info().getPid()
            + ", python="
            + agent.info().getPython()
            + "]");
    listener.agentChanged(agent.info());
    try {
      keepLease(agent);
    } finally {
      // What the agent told last is heard before its end is.
      if (!closed) {
        watcher.join(RESTART_PAUSE_MS);
        listener.agentLost("its agent (pid " + agent.info().getPid() + ") ended");
      }
    }
  }

  private void keepLease(AgentConnection agent) throws InterruptedException {
    CompletableFuture<Process> exit = agent.onExit();
    while (!closed && !exit.isDone()) {
      try {
        agent.heartbeat(leaseMs);
      } catch (StatusRuntimeException e) {
        log.warning("Agent did not answer a heartbeat [status=" + e.getStatus() + "]");
      }
      try {
        exit.get(leaseMs / HEARTBEATS_IN_A_LEASE, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        // It lives: the next heartbeat is due.
        continue;
      } catch (ExecutionException e) {
        throw new IllegalStateException("the exit of a process cannot fail", e);
      }
    }
  }

  private void pause() {
    try {
      Thread.sleep(RESTART_PAUSE_MS);
    } catch (InterruptedException e) {
      closed = true;
    }
  }

  private static String secret() {
    byte[] bytes = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(bytes);
    return BaseEncoding.base16().lowerCase().encode(bytes);
  }
}
