package io.tensorflowignite.agent;

import com.google.protobuf.Duration;
import com.google.protobuf.util.Durations;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.WatchResponse;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cache.CachePeekMode;

/**
 * Makes this node do what the job table asks of it: compares the phase of every current attempt
 * with what the agent runs, takes the steps that are missing, and reports. One thread; every event
 * only makes it look again, and it looks every second anyhow.
 */
public final class NodeRunner implements AutoCloseable {
  private static final long TICK_MS = 1_000;

  private final Ignite ignite;
  private final IgniteLogger log;
  private final ClusterSettings settings;
  private final String nodeId;
  private final String nodeAddress;
  private final Supplier<Map<String, String>> tlsEnvironment;
  private final String taskHost;
  private final CodeArchives archives;
  private final AgentSupervisor supervisor;
  private final JobTable jobs;
  private final ReportTable reports;
  private final LogTable logs;

  private final LinkedBlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
  private final Map<String, LocalAttempt> attempts = new HashMap<>();
  private final Thread thread = new Thread(this::run, "tensorflow-ignite-node-runner");
  private volatile boolean closed;

  /**
   * @param nodeAddress host:port of this node's API and data endpoint.
   * @param tlsEnvironment what a task has in its environment to call it.
   */
  public NodeRunner(
      Ignite ignite,
      ClusterSettings settings,
      AgentSupervisor supervisor,
      JobTable jobs,
      String nodeAddress,
      Supplier<Map<String, String>> tlsEnvironment,
      CodeStore code,
      Path agentDirectory) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(NodeRunner.class);
    this.settings = settings;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.nodeAddress = nodeAddress;
    this.tlsEnvironment = tlsEnvironment;
    this.taskHost = nodeAddress.substring(0, nodeAddress.lastIndexOf(':'));
    this.archives = new CodeArchives(agentDirectory, code);
    this.supervisor = supervisor;
    this.jobs = jobs;
    this.reports = new ReportTable(ignite);
    this.logs = new LogTable(ignite);
  }

  public void start() {
    thread.start();
  }

  /** Something in the job table may have changed. */
  public void wake() {
    events.add(() -> {});
  }

  /**
   * An event of the agent; output is stored at once, on the calling thread, so that it keeps its
   * order.
   */
  public void agentEvent(WatchResponse event) {
    if (event.hasLog()) {
      logs.put(event.getKey(), event.getLog());
    } else {
      events.add(
          () -> {
            LocalAttempt attempt =
                attempts.get(id(event.getKey().getJobId(), event.getKey().getAttempt()));
            if (attempt != null) {
              attempt.observe(event.getKey(), event.getStatus());
            }
          });
    }
  }

  public void agentLost(String reason) {
    events.add(
        () ->
            attempts
                .values()
                .forEach(
                    attempt -> {
                      attempt.loseAgent(reason);
                      attempt.stopping = false;
                    }));
  }

  @Override
  public void close() {
    closed = true;
    wake();
    thread.interrupt();
    archives.clear();
  }

  private void run() {
    while (!closed) {
      try {
        Runnable event = events.poll(TICK_MS, TimeUnit.MILLISECONDS);
        while (event != null) {
          event.run();
          event = events.poll();
        }
        converge();
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        if (!closed) {
          log.error("Node runner goes on after an error", e);
        }
      }
    }
  }

  private void converge() {
    Map<String, Job> wanted = new HashMap<>();
    for (Job job : jobs.all()) {
      if (job.getAttemptsCount() > 0 && !isOver(job)) {
        Attempt attempt = current(job);
        List<Task> mine = mine(attempt);
        if (!mine.isEmpty()) {
          String id = id(job.getId(), attempt.getNumber());
          wanted.put(id, job);
          LocalAttempt local =
              attempts.computeIfAbsent(
                  id, key -> new LocalAttempt(job.getId(), attempt.getNumber()));
          converge(job, attempt, mine, local);
          report(local);
        }
      }
    }
    for (LocalAttempt local : new ArrayList<>(attempts.values())) {
      if (!wanted.containsKey(id(local.jobId, local.number))) {
        if (local.reached == AttemptPhase.STOP) {
          attempts.remove(id(local.jobId, local.number));
          if (attempts.isEmpty()) {
            archives.clear();
          }
        } else {
          stop(local, Durations.fromMillis(settings.stopGrace().toMillis()));
        }
      }
    }
  }

  private void converge(Job job, Attempt attempt, List<Task> mine, LocalAttempt local) {
    switch (attempt.getPhase()) {
      case RESERVE:
        if (local.reached == AttemptPhase.ATTEMPT_PHASE_UNSPECIFIED) {
          reserve(job, mine, local);
        }
        break;
      case RUN:
        for (Task task : mine) {
          start(job, attempt, task, local);
        }
        local.reached = AttemptPhase.RUN;
        break;
      case STOP:
        if (local.reached != AttemptPhase.STOP) {
          stop(local, grace(job));
        }
        break;
      default:
        throw new IllegalStateException("Attempt without a phase [job=" + job.getId() + "]");
    }
  }

  private void reserve(Job job, List<Task> mine, LocalAttempt local) {
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      return;
    }
    try {
      List<TaskKey> keys =
          mine.stream()
              .map(task -> LocalAttempt.key(local.jobId, local.number, task))
              .collect(Collectors.toList());
      List<Integer> ports = agent.reservePorts(keys);
      for (int i = 0; i < mine.size(); i++) {
        Task task = mine.get(i);
        local.reserve(task, taskHost + ":" + ports.get(i), rows(job.getSpec().getCache(), task));
      }
      local.reached = AttemptPhase.RESERVE;
    } catch (StatusRuntimeException e) {
      local.error("the agent could not reserve ports: " + e.getStatus().getDescription());
    }
  }

  private long rows(String cacheName, Task task) {
    if (task.getPartitionsCount() == 0) {
      return 0;
    }
    IgniteCache<Object, Object> cache = ignite.cache(cacheName);
    if (cache == null) {
      return 0;
    }
    return task.getPartitionsList().stream()
        .mapToLong(partition -> cache.localSizeLong(partition, CachePeekMode.PRIMARY))
        .sum();
  }

  private void start(Job job, Attempt attempt, Task task, LocalAttempt local) {
    TaskKey key = LocalAttempt.key(local.jobId, local.number, task);
    AgentConnection agent = supervisor.agent().orElse(null);
    if (!local.knows(key)) {
      if (local.replace(task)) {
        // Every node must know its token's digest before it runs.
        report(local);
      } else {
        local.error(
            "the node's service was started anew and knows nothing of attempt " + local.number);
      }
    }
    if (agent == null || !local.knows(key) || local.isStarted(key)) {
      return;
    }
    try {
      Path archive = archives.file(job.getSpec().getCodeDigest());
      StartTaskRequest.Builder request =
          StartTaskRequest.newBuilder()
              .setKey(key)
              .setSpec(job.getSpec())
              .setCodeArchive(archive.toString())
              .putAllEnv(TaskEnvironment.of(job, attempt, task, nodeAddress))
              .putAllEnv(tlsEnvironment.get())
              .setContext(
                  TaskEnvironment.context(job, attempt, task, nodeAddress).toBuilder()
                      .setToken(local.token(key)));
      settings.tasks().addTo(request);
      agent.startTask(request.build());
      local.markStarted(key);
    } catch (StatusRuntimeException e) {
      local.fail(key, "the agent could not start it: " + e.getStatus().getDescription());
    } catch (TensorFlowIgniteException e) {
      String why = "its code could not be put in place: " + e.getMessage();
      if (e.code() == ErrorCode.CODE_NOT_FOUND || e.code() == ErrorCode.CODE_INVALID) {
        local.failForGood(key, why);
      } else {
        local.fail(key, why);
      }
    } catch (IOException e) {
      local.fail(key, "its code could not be put in place: " + e.getMessage());
    }
  }

  private void stop(LocalAttempt local, Duration grace) {
    if (local.isOver()) {
      local.reached = AttemptPhase.STOP;
    }
    if (local.stopping || local.provenGone) {
      return;
    }
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      // The agent that ran it has ended, and a new one sweeps what is left before it answers: wait
      // for that one.
      return;
    }
    local.stopping = true;
    agent
        .stopAttempt(local.jobId, local.number, grace)
        .whenComplete(
            (nothing, failure) ->
                events.add(
                    () -> {
                      local.stopping = false;
                      local.provenGone = failure == null;
                      if (failure != null) {
                        log.warning(
                            "Stopping an attempt will be tried again [job="
                                + local.jobId
                                + ", attempt="
                                + local.number
                                + ", reason="
                                + failure
                                + "]");
                      }
                    }));
  }

  private void report(LocalAttempt local) {
    NodeReport news = local.news(nodeId);
    if (news != null) {
      reports.put(news);
    }
  }

  private Duration grace(Job job) {
    return job.getSpec().hasStopGrace()
        ? job.getSpec().getStopGrace()
        : Durations.fromMillis(settings.stopGrace().toMillis());
  }

  private List<Task> mine(Attempt attempt) {
    return attempt.getTasksList().stream()
        .filter(task -> task.getNodeId().equals(nodeId))
        .collect(Collectors.toList());
  }

  private static boolean isOver(Job job) {
    return job.hasFinishedAt();
  }

  private static Attempt current(Job job) {
    return job.getAttempts(job.getAttemptsCount() - 1);
  }

  private static String id(String job, int attempt) {
    return job + "/" + attempt;
  }
}
