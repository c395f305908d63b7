package io.tensorflowignite.node;

import com.google.common.util.concurrent.Uninterruptibles;
import io.tensorflowignite.agent.NodeRunner;
import io.tensorflowignite.job.decide.Members;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The steps before Ignite stops this node: jobs place no more tasks here, the tasks end as planned,
 * and the node leaves the members of the jobs. Each step runs on its own thread: in a cut cluster,
 * a change of a row may never end, and the node must stop nevertheless.
 */
final class OrderlyStop implements Runnable {
  /** For the change of this node's row, before its tasks are waited for. */
  private static final Duration ROW_LIMIT = Duration.ofSeconds(5);

  /** After this time the node goes as a member, as if it was killed. */
  private static final Duration MEMBERS_LIMIT = Duration.ofSeconds(3);

  private final Ignite ignite;
  private final IgniteLogger log;
  private final NodeRow self;
  private final NodeRunner runner;
  private final JobTable jobs;
  private final JobIndex index;

  OrderlyStop(
      Ignite ignite,
      IgniteLogger log,
      NodeRow self,
      NodeRunner runner,
      JobTable jobs,
      JobIndex index) {
    this.ignite = ignite;
    this.log = log;
    this.self = self;
    this.runner = runner;
    this.jobs = jobs;
    this.index = index;
  }

  @Override
  public void run() {
    Duration limit = ROW_LIMIT.plusNanos(runner.leaveNanos());
    if (isDone("the planned ends of its tasks", limit, this::endTasks)) {
      isDone("leaving the members of the jobs", MEMBERS_LIMIT, this::leaveMembers);
    }
  }

  private boolean isDone(String step, Duration limit, Runnable action) {
    boolean[] done = new boolean[1];
    Thread thread =
        new Thread(
            () -> {
              try {
                action.run();
                done[0] = true;
              } catch (RuntimeException e) {
                log.warning("The node stops without " + step + " [node=" + self.id() + "]", e);
              }
            },
            "tensorflow-ignite-leave");
    thread.setDaemon(true);
    thread.start();
    Uninterruptibles.joinUninterruptibly(thread, limit.toNanos(), TimeUnit.NANOSECONDS);
    if (thread.isAlive()) {
      log.warning(
          String.format(
              "The node stops without %s, which took longer than %.0f s [node=%s]",
              step, limit.toMillis() / 1000.0, self.id()));
      return false;
    }
    return done[0];
  }

  private void endTasks() {
    self.stopping();
    runner.leave();
  }

  private void leaveMembers() {
    String consistentId = ignite.cluster().localNode().consistentId().toString();
    for (Job job : index.current()) {
      jobs.update(job.getId(), row -> Members.leave(row, consistentId, here()));
    }
  }

  private Set<String> here() {
    return ignite.cluster().forServers().nodes().stream()
        .map(node -> node.consistentId().toString())
        .collect(Collectors.toSet());
  }
}
