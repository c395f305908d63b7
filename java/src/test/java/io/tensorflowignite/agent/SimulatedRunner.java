package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RESERVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;

import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.ReportThrottle;
import io.tensorflowignite.lease.Contacts;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.ReportReceipt;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What {@link NodeRunner} does with the rows of jobs, over a simulated agent: the steps are the
 * same, and so are the state of an attempt, its reports, and when they are sent.
 */
public final class SimulatedRunner {
  /** What a node requests from its agent. */
  public interface Agent {
    /**
     * Starts a task.
     *
     * @throws IllegalStateException if the agent refuses, or does not answer
     */
    void start(TaskKey task, Job job, Attempt attempt, long leaseUntilNanos);

    /** Ends an attempt; nothing is called if the agent ends before it has proved the end. */
    void stop(String jobId, int attempt, Runnable proven);

    /** Passes a planned end to the tasks; returns false if the agent does not answer. */
    boolean planEnd(String jobId, int attempt, PlannedEnd end);
  }

  private final String nodeId;
  private final Contacts contacts;
  private final LongSupplier nanos;
  private final LongSupplier clockMillis;
  private final Supplier<Agent> agent;
  private final BiConsumer<NodeReport, String> sending;
  private final Map<String, LocalAttempt> attempts = new LinkedHashMap<>();
  private final Map<String, ReportThrottle> throttles = new LinkedHashMap<>();
  private boolean leaving;

  /**
   * @param agent returns null while there is none
   * @param sending sends a report to the node with an id
   */
  public SimulatedRunner(
      String nodeId,
      Contacts contacts,
      LongSupplier nanos,
      LongSupplier clockMillis,
      Supplier<Agent> agent,
      BiConsumer<NodeReport, String> sending) {
    this.nodeId = nodeId;
    this.contacts = contacts;
    this.nanos = nanos;
    this.clockMillis = clockMillis;
    this.agent = agent;
    this.sending = sending;
  }

  /**
   * One pass.
   *
   * @param jobs the rows of jobs that are not over with tasks of their newest attempts here
   */
  public void pass(Collection<Job> jobs) {
    Set<String> desired = new HashSet<>();
    for (Job job : jobs) {
      Attempt attempt = JobMachine.attempt(job);
      String id = ReportSender.id(job.getId(), attempt.getNumber());
      desired.add(id);
      LocalAttempt local =
          attempts.computeIfAbsent(
              id, key -> new LocalAttempt(job, attempt.getNumber(), clockMillis));
      local.job = job;
      converge(job, attempt, local);
      report(local);
    }
    for (LocalAttempt local : new ArrayList<>(attempts.values())) {
      if (!desired.contains(local.id())) {
        end(local);
      }
    }
    throttles.keySet().retainAll(attempts.keySet());
  }

  private void converge(Job job, Attempt attempt, LocalAttempt local) {
    List<Task> tasks =
        attempt.getTasksList().stream()
            .filter(task -> task.getNodeId().equals(nodeId))
            .collect(Collectors.toList());
    switch (attempt.getPhase()) {
      case ATTEMPT_PHASE_RESERVE:
        if (local.reached == AttemptPhase.ATTEMPT_PHASE_UNSPECIFIED) {
          reserve(tasks, local);
        }
        break;
      case ATTEMPT_PHASE_RUN:
        run(job, attempt, tasks, local);
        break;
      case ATTEMPT_PHASE_SAVE:
        run(job, attempt, tasks, local);
        planEnd(attempt, local);
        break;
      case ATTEMPT_PHASE_STOP:
        if (local.reached != ATTEMPT_PHASE_STOP) {
          stop(local);
        }
        break;
      default:
        throw new IllegalStateException("Attempt without a phase [job=" + job.getId() + "]");
    }
  }

  private void reserve(List<Task> tasks, LocalAttempt local) {
    if (agent.get() == null || isInQuarantine()) {
      return;
    }
    for (Task task : tasks) {
      local.reserve(task, "10.0.0.1:7000", 100);
    }
    local.reached = ATTEMPT_PHASE_RESERVE;
  }

  private void run(Job job, Attempt attempt, List<Task> tasks, LocalAttempt local) {
    for (Task task : tasks) {
      start(job, attempt, task, local);
    }
    local.reached = ATTEMPT_PHASE_RUN;
  }

  private void start(Job job, Attempt attempt, Task task, LocalAttempt local) {
    TaskKey key = local.key(task);
    Agent current = agent.get();
    if (!local.hasTask(key) && !local.replace(task)) {
      local.error("the node's service was restarted and has no state of attempt " + local.number);
    }
    OptionalLong leaseEnd = contacts.leaseEndToStart(job);
    boolean canStart = current != null && leaseEnd.isPresent() && !leaving;
    if (!canStart || !local.isToStart(key)) {
      return;
    }
    if (!local.token(key).digest().equals(task.getStatus().getTokenDigest())) {
      return;
    }
    try {
      current.start(key, job, attempt, leaseEnd.getAsLong());
      local.markStarted(key);
    } catch (IllegalStateException e) {
      local.fail(key, "the agent could not start it: " + e.getMessage());
    }
  }

  private void planEnd(Attempt attempt, LocalAttempt local) {
    Agent current = agent.get();
    if (current != null
        && !attempt.getPlannedEnd().equals(local.plannedEnd)
        && current.planEnd(local.jobId, local.number, attempt.getPlannedEnd())) {
      local.plannedEnd = attempt.getPlannedEnd();
    }
  }

  private void end(LocalAttempt local) {
    if (local.reached != ATTEMPT_PHASE_STOP) {
      local.markUnproven();
      stop(local);
      return;
    }
    attempts.remove(local.id());
  }

  private void stop(LocalAttempt local) {
    if (local.hasEnded()) {
      local.reached = ATTEMPT_PHASE_STOP;
    }
    Agent current = agent.get();
    if (local.stopping || local.provenTerminated || current == null) {
      return;
    }
    local.stopping = true;
    current.stop(
        local.jobId,
        local.number,
        () -> {
          local.stopping = false;
          local.provenTerminated = true;
        });
  }

  private void report(LocalAttempt local) {
    local.endRequest = leaving ? "is being stopped" : "";
    NodeReport report = local.report(nodeId);
    String receiver = local.job.getServiceNodeId();
    ReportThrottle throttle = throttles.computeIfAbsent(local.id(), id -> new ReportThrottle());
    if (throttle.isDue(report, receiver, nanos.getAsLong())) {
      sending.accept(throttle.report(), receiver);
    }
  }

  /** Takes a receipt. */
  public void confirm(ReportReceipt receipt) {
    ReportThrottle throttle =
        throttles.get(ReportSender.id(receipt.getJobId(), receipt.getAttempt()));
    if (throttle != null) {
      throttle.confirm(receipt);
    }
  }

  /** Takes an event of the agent. */
  public void observe(TaskKey task, TaskStatus status) {
    LocalAttempt attempt = attempts.get(ReportSender.id(task.getJobId(), task.getAttempt()));
    if (attempt != null) {
      attempt.observe(task, status);
    }
  }

  /** The agent has ended, and all its tasks with it. */
  public void agentLost() {
    for (LocalAttempt attempt : attempts.values()) {
      attempt.loseAgent("its agent ended");
      attempt.stopping = false;
    }
  }

  /** For the next heartbeat: {@code lease} gets the job, the attempt and the end of its lease. */
  public void leases(LeaseReceiver lease) {
    attempts
        .values()
        .forEach(
            attempt -> lease.extend(attempt.jobId, attempt.number, contacts.leaseEnd(attempt.job)));
  }

  /** Gets the leases of attempts. */
  public interface LeaseReceiver {
    void extend(String jobId, int attempt, long untilNanos);
  }

  /** Whether an attempt of an ended job is not proven terminated here. */
  public boolean isInQuarantine() {
    return attempts.values().stream().anyMatch(attempt -> attempt.unproven().isPresent());
  }

  /** Asks the jobs for ends of the attempts with tasks here. */
  public void leave() {
    leaving = true;
  }

  /** Whether a started task has not ended, as far as the node knows. */
  public boolean isActive() {
    return attempts.values().stream().anyMatch(LocalAttempt::isActive);
  }

  /** The number of attempts that this node knows. */
  public int attempts() {
    return attempts.size();
  }
}
