package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_ONE;
import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.settings.QueueSettings;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Task;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.Test;

/**
 * Promise (jobs): A node has no more tasks than its limit, unless one job needs more or a restarted
 * job came from another node.
 *
 * <p>Promise (jobs): Every waiting job starts at some time, whatever comes after it.
 */
public class JobQueueTest {
  private final Map<Resource, Integer> limits =
      new HashMap<>(
          Map.of(
              Resource.tasks("a"), 4,
              Resource.tasks("b"), 4,
              Resource.gpus("a"), 2,
              Resource.gpus("b"), 0));
  private final List<Job> jobs = new ArrayList<>();
  private final Map<String, Map<Resource, Integer>> demands = new HashMap<>();
  private final Map<String, Demand> processes = new HashMap<>();
  private QueueSettings settings = new QueueSettings(0, Map.of());

  @Test
  public void jobsAreAdmittedInTheOrderOfTheirSubmissionWhileThereIsRoom() {
    waits("third", 30, 0, Map.of("a", 2, "b", 2));
    waits("first", 10, 0, Map.of("a", 2, "b", 2));
    waits("second", 20, 0, Map.of("a", 2, "b", 2));
    assertAdmitted("first");
    assertAdmitted("second");
    assertWaits("third", 1, "room on node a (4 of 4 tasks, 2 more needed) and another node");
  }

  @Test
  public void tasksOfJobsThatRunAndOfAdmittedJobsTakeRoom() {
    runs("running", "alice", Map.of("a", 3));
    waits("admitted", 1, 0, Map.of("b", 4));
    change(1, job -> job.setAdmittedAt(at(2)));
    jobs.add(Job.newBuilder().setId("over").setState(JOB_STATE_SUCCEEDED).build());
    waits("large", 10, 0, Map.of("a", 2));
    waits("other", 20, 0, Map.of("b", 1));
    assertWaits("large", 1, "room on node a (3 of 4 tasks, 2 more needed)");
    assertWaits("other", 2, "room on node b (4 of 4 tasks, 1 more needed)");
    assertEquals(2, decide().size());
  }

  @Test
  public void aUnitOfPriorityIsWorthTenMinutesOfWaiting() {
    runs("running", "", Map.of("a", 3));
    waits("normal", 1_000, 0, Map.of("a", 1));
    waits("preferred", 1_599, 1, Map.of("a", 1));
    assertAdmitted("preferred");
    assertWaits("normal", 1, "room on node a");
    jobs.remove(2);
    waits("preferred", 1_601, 1, Map.of("a", 1));
    assertAdmitted("normal");
  }

  @Test
  public void aJobThatWaitsForRoomIsNotOvertakenOnItsNodes() {
    runs("running", "", Map.of("a", 1));
    waits("large", 10, 0, Map.of("a", 4, "b", 1));
    waits("small", 20, 0, Map.of("a", 1));
    waits("elsewhere", 30, 0, Map.of("b", 3));
    waits("crowded", 40, 0, Map.of("b", 1));
    assertWaits("large", 1, "room on node a (1 of 4 tasks, 4 more needed)");
    assertWaits("small", 2, "the jobs before it in the queue");
    assertAdmitted("elsewhere");
    assertWaits("crowded", 3, "the jobs before it in the queue");
  }

  @Test
  public void noGpuIsPromisedTwice() {
    waits("first", 10, 0, Map.of("a", 1));
    demands.get("first").put(Resource.gpus("a"), 2);
    waits("second", 20, 0, Map.of("a", 1));
    demands.get("second").put(Resource.gpus("a"), 1);
    waits("without", 30, 0, Map.of("a", 1));
    assertAdmitted("first");
    assertWaits("second", 1, "room on node a (2 of 2 GPUs, 1 more needed)");
    assertAdmitted("without");
  }

  @Test
  public void gpusOfAJobThatRunsAreItsWorkers() {
    runs("running", "", Map.of("a", 2));
    change(0, job -> job.getSpecBuilder().getWorkersBuilder().setGpus(1));
    change(0, job -> job.getAttemptsBuilder(0).getTasksBuilder(0).setRole(ROLE_WORKER));
    waits("two", 10, 0, Map.of("a", 1));
    demands.get("two").put(Resource.gpus("a"), 2);
    assertWaits("two", 1, "room on node a (1 of 2 GPUs, 2 more needed)");
  }

  @Test
  public void aJobLargerThanANodeIsAdmittedWhenTheNodeIsEmptyOrHasNoLimit() {
    waits("anywhere", 10, 0, Map.of("of an earlier version", 100));
    waits("beside it", 20, 0, Map.of("of an earlier version", 100));
    assertAdmitted("anywhere");
    assertAdmitted("beside it");
    waits("huge", 10, 0, Map.of("a", 9));
    waits("small", 20, 0, Map.of("a", 1));
    assertAdmitted("huge");
    assertWaits("small", 1, "room on node a (9 of 4 tasks, 1 more needed)");
  }

  @Test
  public void aJobOverTheQuotaOfItsOwnerWaitsAndHoldsUpNobodyElse() {
    settings = new QueueSettings(0, Map.of("alice", 3, "*", 1));
    runs("running", "alice", Map.of("a", 2));
    waits("over", 10, 0, Map.of("a", 2), "alice");
    waits("within", 20, 0, Map.of("a", 1), "alice");
    waits("large", 30, 0, Map.of("b", 3), "bob");
    waits("anonymous", 40, 0, Map.of("b", 1), "");
    assertWaits("over", 1, "the quota of 'alice' (2 of 3 tasks, 2 more needed)");
    assertWaits("within", 2, "the jobs of 'alice' before it, which need their quota");
    assertAdmitted("large");
    assertAdmitted("anonymous");
  }

  @Test
  public void smallJobsOfAnOwnerDoNotStarveItsLargeOne() {
    settings = new QueueSettings(0, Map.of("alice", 3));
    waits("large", 10, 0, Map.of("a", 3), "alice");
    runs("small1", "alice", Map.of("b", 1));
    waits("small2", 20, 0, Map.of("b", 1), "alice");
    assertWaits("large", 1, "the quota of 'alice'");
    assertWaits("small2", 2, "the jobs of 'alice' before it");
    jobs.removeIf(job -> job.getId().equals("small1"));
    assertAdmitted("large");
    assertWaits("small2", 1, "the quota of 'alice' (3 of 3 tasks, 1 more needed)");
  }

  @Test
  public void aJobThatRestartsKeepsRoomOnTheNodesOfItsNextAttempt() {
    runs("restarting", "", Map.of("gone", 4, "b", 1));
    change(0, job -> job.setState(JOB_STATE_RESTARTING));
    demands.put("restarting", tasks(Map.of("a", 4)));
    waits("waiting", 10, 0, Map.of("a", 1));
    waits("other", 20, 0, Map.of("b", 4));
    assertWaits("waiting", 1, "room on node a (4 of 4 tasks, 1 more needed)");
    assertWaits("other", 2, "room on node b (1 of 4 tasks, 4 more needed)");
    // Its service has not yet observed that a node has left.
    change(0, job -> job.setState(JOB_STATE_RUNNING));
    assertWaits("waiting", 1, "room on node a (4 of 4 tasks, 1 more needed)");
    change(0, job -> job.setState(JOB_STATE_ENDING));
    assertAdmitted("waiting");
  }

  @Test
  public void jobsWithOneProcessAreSpreadOverTheNodesAndAnIdleOneIsTheLastThatJoined() {
    waitsForANode("first", 10, 0, "a", "b");
    waitsForANode("second", 20, 0, "a", "b");
    waitsForANode("third", 30, 0, "a", "b");
    runs("running", "", Map.of("b", 1));
    assertEquals(Map.of("first", "a", "second", "b", "third", "a"), decision().nodes);
  }

  @Test
  public void jobsWithOneProcessGetTheGpusOfDifferentNodesAtTheSameTime() {
    limits.put(Resource.gpus("b"), 2);
    waitsForANode("first", 10, 2, "a", "b");
    waitsForANode("second", 20, 2, "a", "b");
    waitsForANode("third", 30, 2, "a", "b");
    assertEquals(Map.of("first", "b", "second", "a"), decision().nodes);
    assertWaits("third", 1, "room on one of 2 nodes, first on node b (2 of 2 GPUs, 2 more needed)");
  }

  @Test
  public void theFirstProcessThatWaitsReservesAllItsNodesAndTheNextOnesOneEach() {
    limits.put(Resource.gpus("b"), 2);
    limits.put(Resource.gpus("c"), 2);
    restartsFrom("onA", "a", 1, "a");
    restartsFrom("onB", "b", 1, "b");
    waitsForANode("first", 10, 2, "a", "b");
    waitsForANode("second", 20, 1, "a", "b");
    waitsForANode("third", 30, 1, "c");
    assertWaits("first", 1, "room on one of 2 nodes, first on node b (1 of 2 GPUs, 2 more needed)");
    assertWaits("second", 2, "the jobs before it in the queue, which need the same nodes");
    assertEquals(Map.of("third", "c"), decision().nodes);
    jobs.remove(0);
    assertEquals(Map.of("first", "a", "second", "b", "third", "c"), decision().nodes);
  }

  @Test
  public void aProcessIsNotOvertakenByLaterOnesOnNodesWhereItsNeedsComeTogether() {
    limits.put(Resource.gpus("b"), 2);
    restartsFrom("endless", "b", 1, "b");
    restartsFrom("ends", "a", 1, "a");
    restartsFrom("endsLater", "a", 1, "a");
    waitsForANode("large", 10, 2, "a", "b");
    waitsForANode("small", 20, 1, "a", "b");
    assertEquals(Map.of(), decision().nodes);
    jobs.removeIf(job -> job.getId().equals("ends"));
    assertEquals("small does not take what large waits for", Map.of(), decision().nodes);
    jobs.removeIf(job -> job.getId().equals("endsLater"));
    assertEquals(Map.of("large", "a", "small", "b"), decision().nodes);
  }

  @Test
  public void aProcessThatNeedsMoreThanIsFreeIsNotOvertakenForever() {
    Random random = new Random(7);
    limits.put(Resource.gpus("b"), 2);
    waitsForANode("large", 0, 2, "a", "b");
    for (int i = 0; i < 2; i++) {
      restartsFrom("a" + i, "a", 1, "a");
      restartsFrom("b" + i, "b", 1, "b");
    }
    int passes = 0;
    while (decision().nodes.get("large") == null) {
      assertTrue("still waits after " + passes + " passes", passes < 50);
      waitsForANode("small" + passes, passes, 1, "a", "b");
      decision()
          .nodes
          .forEach(
              (id, node) -> {
                jobs.removeIf(job -> job.getId().equals(id));
                restartsFrom(id, node, 1, node);
              });
      List<Job> running = new ArrayList<>(jobs);
      running.removeIf(job -> job.getState() != JOB_STATE_RESTARTING);
      jobs.remove(running.get(random.nextInt(running.size())));
      passes++;
    }
  }

  @Test
  public void aProcessThatRestartsKeepsItsNodeAndGetsAnotherIfThatMayNotRunIt() {
    restartsFrom("stays", "a", 0, "a", "b");
    restartsFrom("moves", "old", 0, "a", "b");
    assertEquals(Map.of("moves", "b"), decision().nodes);
    change(1, job -> job.setProcessNodeId("b"));
    assertEquals(Map.of(), decision().nodes);
    change(1, job -> job.setState(JOB_STATE_RUNNING));
    processes.put("moves", Demand.onOneOf(Map.of("a", tasks(Map.of("a", 1)))));
    assertEquals("a node is chosen only between attempts", Map.of(), decision().nodes);
  }

  @Test
  public void processesThatRestartTogetherGetDifferentGpusOrWaitForThem() {
    limits.put(Resource.gpus("b"), 2);
    restartsFrom("first", "old", 2, "a", "b");
    restartsFrom("second", "old", 2, "a", "b");
    restartsFrom("third", "old", 2, "a", "b");
    assertEquals(2, decision().nodes.size());
    assertEquals(2, Set.copyOf(decision().nodes.values()).size());
    limits.put(Resource.tasks("a"), 1);
    limits.put(Resource.tasks("b"), 1);
    jobs.remove(2);
    restartsFrom("withoutGpus", "old", 0, "a", "b");
    assertEquals("tasks alone do not hold it up", 3, decision().nodes.size());
  }

  @Test
  public void anAdmittedProcessWhoseNodeLeftBeforeItsFirstAttemptGetsAnotherNode() {
    waitsForANode("admitted", 10, 0, "a", "b");
    change(0, job -> job.setAdmittedAt(at(20)).setProcessNodeId("old"));
    change(0, job -> job.getSpecBuilder().getStrategyBuilder().setKind(JOB_KIND_ONE));
    assertEquals(Map.of("admitted", "b"), decision().nodes);
    change(0, job -> job.setProcessNodeId("a"));
    assertEquals(Map.of(), decision().nodes);
  }

  @Test
  public void aProcessKeepsTheGpusOfItsNodeWhileThePartitionsOfItsCacheMove() {
    waitsForANode("admitted", 10, 2, "a");
    change(0, job -> job.setAdmittedAt(at(20)).setProcessNodeId("a"));
    change(
        0,
        job ->
            job.getSpecBuilder()
                .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_ONE))
                .getWorkersBuilder()
                .setGpus(2));
    processes.remove("admitted");
    demands.remove("admitted");
    waitsForANode("ofAnotherCache", 30, 1, "a");
    assertWaits("ofAnotherCache", 1, "room on node a (2 of 2 GPUs, 1 more needed)");
    jobs.remove(0);
    restartsFrom("restarts", "old", 2, "a");
    change(1, job -> job.setProcessNodeId("a"));
    processes.remove("restarts");
    demands.remove("restarts");
    assertWaits("ofAnotherCache", 1, "room on node a (2 of 2 GPUs, 1 more needed)");
  }

  @Test
  public void aJobThatCannotBePlacedIsNotInTheQueue() {
    jobs.add(Job.newBuilder().setId("unplaced").setState(JOB_STATE_PENDING).build());
    waits("stopped", 10, 0, Map.of("a", 1));
    change(1, job -> job.setStopRequested(true));
    assertTrue(decide().isEmpty());
  }

  @Test
  public void everyJobIsAdmittedAtSomeTimeWhateverComesAfterIt() {
    Random random = new Random(7);
    waits("last", 0, -100, Map.of("a", 4, "b", 4));
    int now = 0;
    int count = 0;
    while (jobs.stream().anyMatch(job -> job.getId().equals("last"))) {
      now += 300;
      assertTrue("still waits after " + now + " s", now < 200 * 600 + 100 * 300);
      waits("job" + count++, now, 100, Map.of(random.nextBoolean() ? "a" : "b", 2));
      Map<String, JobQueue.Entry> entries = decide();
      Map<Resource, Integer> used = new HashMap<>();
      jobs.removeIf(job -> job.getState() == JOB_STATE_RUNNING && random.nextInt(3) == 0);
      for (Job job : List.copyOf(jobs)) {
        JobQueue.Entry entry = entries.get(job.getId());
        if (entry != null && entry.isAdmitted()) {
          jobs.remove(job);
          runs(job.getId(), "", byNode(demands.get(job.getId())));
        }
      }
      jobs.removeIf(job -> job.getId().equals("last") && job.getState() == JOB_STATE_RUNNING);
      jobs.stream()
          .filter(job -> job.getState() == JOB_STATE_RUNNING)
          .forEach(
              job ->
                  demands.get(job.getId()).forEach((node, n) -> used.merge(node, n, Integer::sum)));
      assertTrue(used.values().stream().allMatch(tasks -> tasks <= 4));
    }
  }

  private void change(int index, Consumer<Job.Builder> change) {
    Job.Builder job = jobs.get(index).toBuilder();
    change.accept(job);
    jobs.set(index, job.build());
  }

  private void waits(String id, long second, int priority, Map<String, Integer> demand) {
    waits(id, second, priority, demand, "");
  }

  private void waits(
      String id, long second, int priority, Map<String, Integer> demand, String owner) {
    Job.Builder job =
        Job.newBuilder()
            .setId(id)
            .setState(JOB_STATE_PENDING)
            .setOwner(owner)
            .setCreatedAt(at(second));
    job.getSpecBuilder().setPriority(priority);
    jobs.add(job.build());
    demands.put(id, tasks(demand));
  }

  private void runs(String id, String owner, Map<String, Integer> tasks) {
    Attempt.Builder attempt = Attempt.newBuilder().setNumber(1);
    tasks.forEach(
        (node, count) -> {
          for (int i = 0; i < count; i++) {
            attempt.addTasks(Task.newBuilder().setNodeId(node));
          }
        });
    jobs.add(
        Job.newBuilder()
            .setId(id)
            .setState(JOB_STATE_RUNNING)
            .setOwner(owner)
            .addAttempts(attempt)
            .build());
  }

  private static Timestamp at(long second) {
    return Timestamp.newBuilder().setSeconds(second).build();
  }

  private static Map<String, Integer> byNode(Map<Resource, Integer> needs) {
    Map<String, Integer> tasks = new HashMap<>();
    needs.forEach((resource, count) -> tasks.put(resource.node, count));
    return tasks;
  }

  private static Map<Resource, Integer> tasks(Map<String, Integer> byNode) {
    Map<Resource, Integer> needs = new HashMap<>();
    byNode.forEach((node, count) -> needs.put(Resource.tasks(node), count));
    return needs;
  }

  private Map<String, JobQueue.Entry> decide() {
    return decision().entries;
  }

  private JobQueue.Decision decision() {
    return JobQueue.decide(
        jobs,
        limits,
        settings,
        job ->
            processes.containsKey(job.getId())
                ? Optional.of(processes.get(job.getId()))
                : Optional.ofNullable(demands.get(job.getId())).map(Demand::of));
  }

  /** A job with one process that may run on some nodes, in the order in which they joined. */
  private void waitsForANode(String id, long second, int gpus, String... nodes) {
    waits(id, second, 0, Map.of());
    mayRunOn(id, gpus, nodes);
  }

  private void mayRunOn(String id, int gpus, String... nodes) {
    Map<String, Map<Resource, Integer>> byNode = new LinkedHashMap<>();
    for (String node : nodes) {
      Map<Resource, Integer> needs = tasks(Map.of(node, 1));
      if (gpus > 0) {
        needs.put(Resource.gpus(node), gpus);
      }
      byNode.put(node, needs);
    }
    processes.put(id, Demand.onOneOf(byNode));
  }

  /** A job with one process on a node that needs another one. */
  private void restartsFrom(String id, String node, int gpus, String... nodes) {
    runs(id, "", Map.of(node, 1));
    int last = jobs.size() - 1;
    change(last, job -> job.setState(JOB_STATE_RESTARTING));
    change(
        last,
        job ->
            job.getSpecBuilder()
                .setStrategy(Strategy.newBuilder().setKind(JOB_KIND_ONE))
                .getWorkersBuilder()
                .setGpus(gpus));
    change(last, job -> job.getAttemptsBuilder(0).getTasksBuilder(0).setRole(ROLE_WORKER));
    mayRunOn(id, gpus, nodes);
  }

  private void assertAdmitted(String id) {
    JobQueue.Entry entry = decide().get(id);
    assertTrue(entry.reason, entry.isAdmitted());
  }

  private void assertWaits(String id, int position, String reason) {
    JobQueue.Entry entry = decide().get(id);
    assertFalse(entry.isAdmitted());
    assertEquals(position, entry.position);
    assertTrue(entry.reason, entry.reason.contains(reason));
  }
}
