package io.tensorflowignite.simulation;

import io.tensorflowignite.agent.SimulatedRunner;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.EndProgress;
import io.tensorflowignite.v1.FailureKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskFailure;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * An agent with the processes of its tasks, and the keepers that end them: as {@code
 * python/tensorflow_ignite/agent}. It is stopped (frozen) alone, or together with its node.
 */
final class SimulatedAgent implements SimulatedRunner.Agent {
  private static final int PROGRESS_MS = 2_500;
  private static final int LEASE_MS = 6_000;
  private static final TaskStatus CRASH =
      raised(FailureKind.FAILURE_KIND_SCRIPT, "ValueError", "no");
  private static final TaskStatus PEER_LOST =
      raised(FailureKind.FAILURE_KIND_PEER, "UnavailableError", "connection reset");

  private static TaskStatus raised(FailureKind kind, String type, String text) {
    TaskFailure.Builder failure =
        TaskFailure.newBuilder().setKind(kind).setExceptionClass(type).setExceptionText(text);
    return TaskStatus.newBuilder()
        .setError("exited with code 1: " + type + ": " + text)
        .setFailure(failure)
        .build();
  }

  /** One attempt on this host. */
  private static final class LocalTasks {
    final Map<TaskKey, SimulatedProcess> processes = new LinkedHashMap<>();
    PlannedEnd end = PlannedEnd.getDefaultInstance();
    long leaseUntil;
    boolean watched;
  }

  /** A process and all that it has started. */
  private final class SimulatedProcess {
    final TaskKey key;
    final String attempt;
    final boolean isEnding;
    TaskState state = TaskState.TASK_STATE_RUNNING;
    boolean runs = true;
    long step;
    long proposed;
    boolean saved;

    SimulatedProcess(TaskKey key, String attempt, boolean isEnding) {
      this.key = key;
      this.attempt = attempt;
      this.isEnding = isEnding;
    }

    TaskStatus.Builder status() {
      EndProgress end =
          EndProgress.newBuilder().setReady(step > 0).setStep(proposed).setSaved(saved).build();
      return TaskStatus.newBuilder()
          .setState(state)
          .setProgress(
              Progress.newBuilder()
                  .setStep(step)
                  .setCheckpointStep(saved ? proposed : step / 5 * 5)
                  .setEnd(end));
    }
  }

  private final Simulation simulation;
  private final ProcessBooks books;
  private final SimulatedNode node;
  private final Map<String, LocalTasks> attempts = new LinkedHashMap<>();
  private final Set<String> stopped = new HashSet<>();
  private final boolean ignoresLeases;
  private long heartbeatAt;
  private long frozenUntil;
  private boolean ended;

  /**
   * @param ignoresLeases an agent with a fault, which the simulation must find
   */
  SimulatedAgent(
      Simulation simulation, ProcessBooks books, SimulatedNode node, boolean ignoresLeases) {
    this.simulation = simulation;
    this.books = books;
    this.node = node;
    this.ignoresLeases = ignoresLeases;
    this.heartbeatAt = simulation.nanos();
    watchOwnLease();
  }

  private static String id(String job, int attempt) {
    return job + "/" + attempt;
  }

  boolean isFrozen() {
    return frozenUntil > simulation.nanos();
  }

  boolean hasEnded() {
    return ended;
  }

  void freeze(long millis) {
    frozenUntil = simulation.nanos() + TimeUnit.MILLISECONDS.toNanos(millis);
  }

  /** Runs an action of the agent: not while it is frozen, and not after its end. */
  private void after(long millis, Runnable action) {
    simulation.after(millis, () -> now(action));
  }

  private void now(Runnable action) {
    if (isFrozen() && !ended) {
      simulation.at(frozenUntil, () -> now(action));
    } else if (!ended) {
      action.run();
    }
  }

  @Override
  public void start(TaskKey key, Job job, Attempt attempt, long leaseUntilNanos) {
    if (ended) {
      throw new IllegalStateException("no connection");
    }
    if (isFrozen()) {
      // The call is in the socket, and the agent takes it when it goes on.
      after(1, () -> tryStart(key, job, attempt, leaseUntilNanos));
      throw new IllegalStateException("no answer");
    }
    String refusal = tryStart(key, job, attempt, leaseUntilNanos);
    if (!refusal.isEmpty()) {
      throw new IllegalStateException(refusal);
    }
  }

  private String tryStart(TaskKey key, Job job, Attempt attempt, long leaseUntilNanos) {
    String id = id(key.getJobId(), key.getAttempt());
    if (stopped.contains(id)) {
      return "the attempt was stopped";
    }
    if (simulation.nanos() - heartbeatAt >= TimeUnit.MILLISECONDS.toNanos(LEASE_MS)) {
      return "the lease of the agent has ended";
    }
    LocalTasks local = attempts.computeIfAbsent(id, any -> new LocalTasks());
    local.leaseUntil = Math.max(local.leaseUntil, leaseUntilNanos);
    if (local.leaseUntil <= simulation.nanos() && !ignoresLeases) {
      return "the lease of the attempt has ended";
    }
    for (SimulatedProcess other : local.processes.values()) {
      if (other.key.getRole() == key.getRole()
          && other.key.getIndex() == key.getIndex()
          && other.runs) {
        return "an earlier incarnation runs";
      }
    }
    launch(key, job, attempt, local);
    return "";
  }

  private void launch(TaskKey key, Job job, Attempt attempt, LocalTasks local) {
    String identity =
        String.format(
            "attempt %d (begun at %d.%09d, assignment %.8s)",
            attempt.getNumber(),
            attempt.getStartedAt().getSeconds(),
            attempt.getStartedAt().getNanos(),
            attempt.getAssignmentDigest());
    boolean isEnding =
        key.getRole() == Role.ROLE_CLIENT
            || job.getSpec().getStrategy().getKind() != JobKind.JOB_KIND_PARAMETER_SERVER;
    boolean crashes = simulation.chance(0.02);
    long runs = crashes ? simulation.between(200, 8_000) : simulation.between(10_000, 25_000);
    SimulatedProcess process = new SimulatedProcess(key, identity, isEnding);
    local.processes.put(key, process);
    books.start(key.getJobId(), identity, node.id());
    simulation.log("%s starts %s of job %s", node.id(), identity, key.getJobId());
    after(simulation.between(10, 300), () -> event(process, process.status()));
    after(simulation.between(1_000, 2_000), () -> progress(process, local));
    // Its script ends, whether the agent stands still or not.
    if (isEnding) {
      simulation.after(
          runs,
          () -> {
            if (process.runs && local.end.getRequestedAt().getSeconds() == 0) {
              end(
                  process,
                  crashes ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_SUCCEEDED,
                  crashes ? CRASH : TaskStatus.getDefaultInstance());
            }
          });
    }
    if (!local.watched) {
      local.watched = true;
      watchLease(local);
    }
  }

  private void event(SimulatedProcess process, TaskStatus.Builder status) {
    TaskStatus sent = status.build();
    node.after(1, () -> node.agentEvent(process.key, sent));
  }

  private void progress(SimulatedProcess process, LocalTasks local) {
    if (process.state != TaskState.TASK_STATE_RUNNING) {
      return;
    }
    boolean waits = process.saved || (process.proposed > 0 && process.proposed == process.step);
    if (!waits) {
      process.step += 1;
    }
    event(process, process.status());
    after(PROGRESS_MS, () -> progress(process, local));
  }

  @Override
  public boolean planEnd(String jobId, int attempt, PlannedEnd end) {
    LocalTasks local = attempts.get(id(jobId, attempt));
    if (isFrozen() || ended) {
      return false;
    }
    if (local == null) {
      return true;
    }
    local.end = end;
    for (SimulatedProcess process : local.processes.values()) {
      if (process.runs && process.key.getRole() != Role.ROLE_PS) {
        after(simulation.between(10, 500), () -> obey(process, end));
      }
    }
    return true;
  }

  private void obey(SimulatedProcess process, PlannedEnd end) {
    if (process.state != TaskState.TASK_STATE_RUNNING) {
      return;
    }
    if (!end.getAgreed()) {
      process.proposed = Math.max(process.proposed, Math.max(end.getStep(), process.step + 1));
      process.step = process.proposed;
      event(process, process.status());
    } else {
      process.step = end.getStep();
      after(
          simulation.between(10, 3_000),
          () -> {
            process.saved = true;
            event(process, process.status());
          });
    }
  }

  @Override
  public void stop(String jobId, int attempt, Runnable proven) {
    now(
        () -> {
          String id = id(jobId, attempt);
          stopped.add(id);
          LocalTasks local = attempts.get(id);
          // A script may take the whole grace.
          long grace = simulation.chance(0.8) ? simulation.between(10, 400) : 5_000;
          after(
              local == null ? 1 : grace,
              () -> {
                if (local != null) {
                  kill(local, TaskState.TASK_STATE_STOPPED, "", false);
                }
                after(20, () -> node.after(1, () -> node.proven(proven)));
              });
        });
  }

  private void kill(LocalTasks local, TaskState state, String error, boolean nodeFailed) {
    for (SimulatedProcess process : new ArrayList<>(local.processes.values())) {
      if (process.runs) {
        TaskStatus why = TaskStatus.newBuilder().setError(error).setNodeFailed(nodeFailed).build();
        end(process, state, why);
      }
    }
  }

  private void end(SimulatedProcess process, TaskState state, TaskStatus why) {
    process.runs = false;
    process.state = state;
    books.end(process.key.getJobId(), process.attempt);
    simulation.log(
        "%s ends %s of job %s: %s %s",
        node.id(), process.attempt, process.key.getJobId(), state, why.getError());
    TaskStatus status =
        process
            .status()
            .setExitCode(state == TaskState.TASK_STATE_SUCCEEDED ? 0 : 1)
            .mergeFrom(why)
            .build();
    after(5, () -> event(process, status.toBuilder()));
    if (state == TaskState.TASK_STATE_FAILED) {
      node.peersFail(process.key, process.attempt);
    }
  }

  /** The connection of each task of the attempt to one that has failed breaks. */
  void peerFailed(TaskKey failed, String attempt) {
    LocalTasks local = attempts.get(id(failed.getJobId(), failed.getAttempt()));
    if (local == null) {
      return;
    }
    for (SimulatedProcess process : local.processes.values()) {
      if (process.attempt.equals(attempt) && process.isEnding && simulation.chance(0.5)) {
        simulation.after(
            simulation.between(50, 2_000),
            () -> {
              if (process.runs) {
                end(process, TaskState.TASK_STATE_FAILED, PEER_LOST);
              }
            });
      }
    }
  }

  /** The script of a random task fails. */
  void crash() {
    List<SimulatedProcess> all = new ArrayList<>();
    attempts.values().forEach(local -> all.addAll(local.processes.values()));
    all.removeIf(process -> !process.runs);
    if (!all.isEmpty()) {
      SimulatedProcess process = all.get(simulation.random.nextInt(all.size()));
      end(process, TaskState.TASK_STATE_FAILED, CRASH);
    }
  }

  /** A heartbeat of the node; returns false if there is no answer. */
  boolean heartbeat(SimulatedRunner runner) {
    if (isFrozen() || ended) {
      return false;
    }
    heartbeatAt = simulation.nanos();
    runner.leases(
        (job, number, until) -> {
          LocalTasks local = attempts.get(id(job, number));
          if (local != null) {
            local.leaseUntil = Math.max(local.leaseUntil, until);
          }
        });
    return true;
  }

  /** Ends the processes at the end of the lease; the keepers do it 0.3 s later. */
  private void watchLease(LocalTasks local) {
    simulation.at(
        local.leaseUntil,
        () -> {
          if (ended) {
            return;
          }
          if (local.leaseUntil > simulation.nanos()) {
            watchLease(local);
            return;
          }
          int delay = isFrozen() ? simulation.between(300, 600) : simulation.between(1, 250);
          long until = local.leaseUntil;
          simulation.after(
              delay,
              () -> {
                if (!ended && !ignoresLeases && local.leaseUntil == until) {
                  kill(local, TaskState.TASK_STATE_FAILED, "the lease of its attempt ended", true);
                }
                local.watched = local.leaseUntil > until;
                if (local.watched) {
                  watchLease(local);
                }
              });
        });
  }

  private void watchOwnLease() {
    long end = heartbeatAt + TimeUnit.MILLISECONDS.toNanos(LEASE_MS);
    simulation.at(
        end,
        () ->
            now(
                () -> {
                  long silent = simulation.nanos() - heartbeatAt;
                  if (silent >= TimeUnit.MILLISECONDS.toNanos(LEASE_MS)) {
                    for (LocalTasks local : attempts.values()) {
                      kill(local, TaskState.TASK_STATE_FAILED, "the node was silent", true);
                    }
                    after(500, this::watchOwnLease);
                  } else {
                    watchOwnLease();
                  }
                }));
  }

  /** Its node has ended: the agent notices the end of its input, unless it stands still. */
  void nodeEnded() {
    now(() -> after(simulation.between(1, 300), this::endNow));
  }

  /** The agent and all processes end. */
  void endNow() {
    if (!ended) {
      ended = true;
      for (LocalTasks local : attempts.values()) {
        for (SimulatedProcess process : local.processes.values()) {
          if (process.runs) {
            process.runs = false;
            books.end(process.key.getJobId(), process.attempt);
            simulation.log("%s ends %s with its agent", node.id(), process.attempt);
            node.peersFail(process.key, process.attempt);
          }
        }
      }
    }
  }
}
