package io.tensorflowignite.job;

import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.StoredOutput;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * News of stored output, for streams that follow it: so a stream reads the output of the tasks that
 * have more of it, and not of all tasks again and again. A node with a stream says to the nodes of
 * the job's tasks that it follows; these collect news for a tenth of a second. News may be lost, so
 * a stream reads everything from time to time.
 */
public final class OutputNews implements AutoCloseable {
  private static final String FOLLOW = "tensorflow-ignite-follow";
  private static final String STORED = "tensorflow-ignite-stored";

  private static final Duration COLLECT = Duration.ofMillis(100);
  private static final Duration RENEW = Duration.ofSeconds(5);
  private static final Duration FORGET = Duration.ofSeconds(15);

  private final Ignite ignite;

  /** By job, the streams of this node. */
  private final Map<String, Set<Follower>> streams = new ConcurrentHashMap<>();

  /** By job, the nodes that follow it, with the moment at which each is forgotten. */
  private final Map<String, Map<UUID, Long>> nodes = new ConcurrentHashMap<>();

  /** The processes with news since the last message. */
  private final Set<TaskKey> collected = new HashSet<>();

  private final ScheduledExecutorService sender =
      Executors.newSingleThreadScheduledExecutor(
          IdleThreads.daemons("tensorflow-ignite-output-news"));
  private final List<Runnable> ends = new ArrayList<>();

  private OutputNews(Ignite ignite) {
    this.ignite = ignite;
  }

  /** Opens the news of a node. */
  public static OutputNews open(Ignite ignite) {
    OutputNews news = new OutputNews(ignite);
    news.ends.add(NodeMessages.listen(ignite, FOLLOW, news::followed));
    news.ends.add(NodeMessages.listen(ignite, STORED, StoredOutput.parser(), news::announce));
    return news;
  }

  private void followed(UUID node, Object job) {
    nodes
        .computeIfAbsent(String.valueOf(job), id -> new ConcurrentHashMap<>())
        .put(node, System.nanoTime() + FORGET.toNanos());
  }

  /** A stream that follows the output of one job. */
  public final class Follower implements AutoCloseable {
    private final String jobId;
    private final Consumer<TaskKey> listener;
    private Set<String> renewed = Set.of();
    private long renewedAt;

    private Follower(String jobId, Consumer<TaskKey> listener) {
      this.jobId = jobId;
      this.listener = listener;
    }

    /** Says to the nodes of an attempt that this node follows it; call this all the time. */
    public void renew(Attempt attempt) {
      Set<String> desired =
          attempt.getTasksList().stream().map(Task::getNodeId).collect(Collectors.toSet());
      if (desired.equals(renewed) && System.nanoTime() - renewedAt < RENEW.toNanos()) {
        return;
      }
      renewed = desired;
      renewedAt = System.nanoTime();
      desired.forEach(node -> NodeMessages.send(ignite, UUID.fromString(node), FOLLOW, jobId));
    }

    @Override
    public void close() {
      streams.computeIfPresent(
          jobId,
          (id, followers) -> {
            followers.remove(this);
            return followers.isEmpty() ? null : followers;
          });
    }
  }

  /**
   * Begins to follow a job.
   *
   * @param listener gets each process with more output; it returns at once
   */
  public Follower follow(String jobId, Consumer<TaskKey> listener) {
    Follower follower = new Follower(jobId, listener);
    streams.compute(
        jobId,
        (id, followers) -> {
          Set<Follower> all = followers == null ? ConcurrentHashMap.newKeySet() : followers;
          all.add(follower);
          return all;
        });
    return follower;
  }

  /** A process has more output in the table. */
  public void stored(TaskKey task) {
    Map<UUID, Long> followers = nodes.get(task.getJobId());
    if (followers == null) {
      return;
    }
    followers.values().removeIf(end -> System.nanoTime() - end > 0);
    if (followers.isEmpty()) {
      nodes.remove(task.getJobId(), followers);
      return;
    }
    synchronized (collected) {
      if (collected.isEmpty()) {
        try {
          sender.schedule(this::flush, COLLECT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException closed) {
          return;
        }
      }
      collected.add(task);
    }
  }

  private void flush() {
    Map<UUID, StoredOutput.Builder> messages = new HashMap<>();
    synchronized (collected) {
      for (TaskKey task : collected) {
        for (UUID node : nodes.getOrDefault(task.getJobId(), Map.of()).keySet()) {
          messages.computeIfAbsent(node, id -> StoredOutput.newBuilder()).addTasks(task);
        }
      }
      collected.clear();
    }
    messages.forEach(
        (node, message) -> NodeMessages.send(ignite, node, STORED, message.build().toByteArray()));
  }

  private void announce(UUID node, StoredOutput output) {
    for (TaskKey task : output.getTasksList()) {
      streams
          .getOrDefault(task.getJobId(), Set.of())
          .forEach(follower -> follower.listener.accept(task));
    }
  }

  @Override
  public void close() {
    ends.forEach(Runnable::run);
    sender.shutdownNow();
  }
}
