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
  private static final long WATCH_PAUSE_MS = 500;
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
        runAgent();
      } catch (InterruptedException e) {
        break;
      } catch (RuntimeException e) {
        if (!closed) {
          log.error("The agent of this node is started anew after an error", e);
        }
      }
      if (!closed) {
        pause();
      }
    }
  }

  /** From an agent's start to its end. */
  private void runAgent() throws InterruptedException {
    AgentStart withSecret = start.toBuilder().setSecret(secret()).build();
    try (AgentConnection agent = AgentConnection.open(python, withSecret, log)) {
      serve(agent);
    } catch (IOException e) {
      missing(e.getMessage());
    } finally {
      current = null;
    }
  }

  private void missing(String reason) {
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

  /** As long as the agent lives: a new watcher is told again everything that is still known. */
  private void watch(AgentConnection agent) {
    try {
      do {
        try {
          agent.watch(listener::event);
        } catch (RuntimeException e) {
          if (!closed) {
            log.error("What the agent told could not be taken in; it is asked again", e);
          }
        }
      } while (!agent.awaitEnd(WATCH_PAUSE_MS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void keepLease(AgentConnection agent) throws InterruptedException {
    boolean ended = false;
    while (!closed && !ended) {
      try {
        agent.heartbeat(leaseMs);
      } catch (StatusRuntimeException e) {
        if (!closed) {
          log.warning("Agent did not answer a heartbeat [reason=" + e.getMessage() + "]");
        }
      }
      ended = agent.awaitEnd(leaseMs / HEARTBEATS_IN_A_LEASE);
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
