package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_CUSTOM;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_ONE;
import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Gpu;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Workers;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.Test;

/**
 * Each node has one GPU, and each worker needs one.
 *
 * <p>Promise (processes): An attempt keeps its GPUs until its end is proven.
 */
public class GpuWaitTest {
  private final Map<String, Job> jobs = new LinkedHashMap<>();
  private final Map<String, Placement> next = new HashMap<>();

  @Test
  public void aJobThatRestartsWaitsForTheGpusOfAJobThatRuns() {
    job("moves", 1, JOB_STATE_RESTARTING, "a", "b");
    next("moves", "a", "b", "c");
    job("runs", 2, JOB_STATE_RUNNING, "c");
    assertEquals(
        "GPUs of node c (1 of 1 taken, 1 needed), which job runs has or gets first",
        waitingFor("moves"));
    set("runs", JOB_STATE_ENDING);
    assertTrue(waitingFor("moves").contains("node c"));
    set("runs", JOB_STATE_FAILED);
    assertEquals("", waitingFor("moves"));
  }

  @Test
  public void aJobThatRunsKeepsItsAttemptWhileAnotherJobHasOrIsToGetTheGpusOfItsNextOne() {
    job("runs", 1, JOB_STATE_RUNNING, "a", "b");
    next("runs", "a", "b", "c");
    assertEquals("", waitingFor("runs"));
    job("restarts", 2, JOB_STATE_RESTARTING, "old");
    next("restarts", "c");
    assertTrue(waitingFor("runs").contains("node c"));
  }

  @Test
  public void ofJobsThatRestartTheEarlierOneGetsTheGpusFirst() {
    job("later", 2, JOB_STATE_RESTARTING, "a");
    job("earlier", 1, JOB_STATE_RESTARTING, "b");
    next("later", "a", "b");
    next("earlier", "a", "b");
    set("later", finished("later"));
    set("earlier", finished("earlier"));
    assertEquals("", waitingFor("earlier"));
    assertTrue(waitingFor("later").contains("which job earlier has or gets first"));
  }

  @Test
  public void anAttemptHasItsGpusUntilItsEndIsProven() {
    job("earlier", 1, JOB_STATE_RESTARTING, "a");
    next("earlier", "b");
    job("later", 2, JOB_STATE_RESTARTING, "b");
    assertTrue(waitingFor("earlier").contains("node b"));
    set("later", finished("later"));
    assertEquals("", waitingFor("earlier"));
  }

  @Test
  public void aJobThatCannotBePlacedHoldsUpNoLaterJob() {
    job("earlier", 1, JOB_STATE_RESTARTING, "gone");
    job("later", 2, JOB_STATE_RESTARTING, "gone");
    next("later", "a");
    assertEquals("", waitingFor("later"));
  }

  @Test
  public void theGpusOfAProcessForWhichTheQueueHasChosenANodeArePromised() {
    job("moves", 1, JOB_STATE_RESTARTING, "a");
    next("moves", "a", "b");
    jobs.put(
        "admitted",
        jobOf("admitted", 2, JOB_KIND_ONE)
            .setState(JOB_STATE_PENDING)
            .setAdmittedAt(at(3))
            .setProcessNodeId("b")
            .build());
    next("admitted", "b");
    assertTrue(waitingFor("moves").contains("job admitted has or gets first"));
    assertEquals("", waitingFor("admitted"));
  }

  @Test
  public void onlyAnAdmittedJobWithGpusThatGetsAnotherPlacementMayWait() {
    job("runs", 1, JOB_STATE_RUNNING, "a");
    assertFalse(GpuWait.isPossible(jobs.get("runs"), place(jobs.get("runs").getSpec(), "a")));
    assertTrue(GpuWait.isPossible(jobs.get("runs"), place(jobs.get("runs").getSpec(), "b")));
    Job.Builder queued = jobOf("queued", 2, JOB_KIND_CUSTOM).setState(JOB_STATE_PENDING);
    Placement placement = place(queued.getSpec(), "a");
    assertFalse("the queue decides", GpuWait.isPossible(queued.build(), placement));
    queued.setAdmittedAt(at(3));
    assertTrue(GpuWait.isPossible(queued.build(), placement));
    queued.getSpecBuilder().getWorkersBuilder().setGpus(0);
    assertFalse("it needs none", GpuWait.isPossible(queued.build(), placement));
  }

  @Test
  public void inAnyOrderEveryJobGetsItsGpusAtSomeTimeAndNoneIsAssignedTwice() {
    List<String> nodes = List.of("a", "b", "c", "d");
    for (int seed = 0; seed < 500; seed++) {
      Random random = new Random(seed);
      jobs.clear();
      next.clear();
      List<String> free = shuffled(nodes, random);
      for (int i = 0; i < 6; i++) {
        // All jobs have lost their nodes, or run on the nodes that others need now.
        boolean isAlone = random.nextInt(4) == 0 && !free.isEmpty();
        boolean runs = !isAlone && random.nextInt(3) == 0 && !free.isEmpty();
        String id = "job" + i;
        String here = isAlone || runs ? free.remove(0) : "old";
        JobKind kind = isAlone ? JOB_KIND_ONE : JOB_KIND_CUSTOM;
        job(id, random.nextInt(3), kind, runs ? JOB_STATE_RUNNING : JOB_STATE_RESTARTING, here);
        List<String> needed = shuffled(nodes, random).subList(0, 1 + random.nextInt(4));
        next(id, isAlone ? new String[] {here} : needed.toArray(new String[0]));
        if (!runs) {
          set(id, finished(id));
        }
      }
      int steps = 0;
      while (!jobs.isEmpty()) {
        assertTrue("seed " + seed + ": jobs wait for each other", steps++ < 100);
        step(random);
      }
    }
  }

  /** Places every job that waits for nothing, one after the other; ends one that runs. */
  private void step(Random random) {
    for (String id : shuffled(List.copyOf(jobs.keySet()), random)) {
      boolean restarts = jobs.get(id).getState() == JOB_STATE_RESTARTING;
      if (waitingFor(id).isEmpty() && (restarts || random.nextInt(2) == 0)) {
        Attempt attempt = attempt(next.get(id));
        Job.Builder running = jobs.get(id).toBuilder().setState(JOB_STATE_RUNNING);
        set(id, running.setAttempts(0, attempt).build());
      }
    }
    Map<Resource, Integer> used = new HashMap<>();
    for (Job job : jobs.values()) {
      if (job.getState() == JOB_STATE_RUNNING) {
        Placement.needs(job.getSpec(), job.getAttempts(0).getTasksList())
            .forEach((resource, count) -> used.merge(resource, count, Integer::sum));
      }
    }
    used.forEach((resource, count) -> assertTrue(!resource.isGpu || count <= 1));
    shuffled(List.copyOf(jobs.keySet()), random).stream()
        .filter(id -> jobs.get(id).getState() == JOB_STATE_RUNNING)
        .findFirst()
        .ifPresent(jobs::remove);
  }

  private static List<String> shuffled(List<String> ids, Random random) {
    List<String> shuffled = new ArrayList<>(ids);
    Collections.shuffle(shuffled, random);
    return shuffled;
  }

  private String waitingFor(String id) {
    Map<Resource, Integer> gpus = new HashMap<>();
    List.of("a", "b", "c", "d", "old").forEach(node -> gpus.put(Resource.gpus(node), 1));
    return GpuWait.of(
            jobs.get(id),
            next.get(id),
            jobs.values(),
            gpus,
            job ->
                Optional.ofNullable(next.get(job.getId()))
                    .map(placement -> demand(job, placement.needs())))
        .orElse("");
  }

  private static Demand demand(Job job, Map<Resource, Integer> needs) {
    return KindRules.of(job.getSpec()).isAlone()
        ? Demand.onOneOf(Map.of(JobQueue.processNode(job), needs))
        : Demand.of(needs);
  }

  private void job(String id, long second, JobState state, String... nodes) {
    job(id, second, JOB_KIND_CUSTOM, state, nodes);
  }

  private void job(String id, long second, JobKind kind, JobState state, String... nodes) {
    Job.Builder job = jobOf(id, second, kind).setState(state).setAdmittedAt(at(second));
    set(id, job.addAttempts(attempt(place(job.getSpec(), nodes))).build());
  }

  private static Job.Builder jobOf(String id, long second, JobKind kind) {
    return Job.newBuilder()
        .setId(id)
        .setCreatedAt(at(second))
        .setSpec(
            JobSpec.newBuilder()
                .setStrategy(Strategy.newBuilder().setKind(kind))
                .setCache("rows")
                .setWorkers(Workers.newBuilder().setGpus(1)));
  }

  private static Attempt attempt(Placement placement) {
    return Attempt.newBuilder()
        .setNumber(1)
        .setAssignmentDigest(placement.digest)
        .addAllTasks(placement.tasks)
        .build();
  }

  private static Placement place(JobSpec spec, String... nodes) {
    Map<Node, List<Integer>> readers = new LinkedHashMap<>();
    for (String id : nodes) {
      Node node = Node.newBuilder().setId(id).addGpus(Gpu.newBuilder().setId("0")).build();
      readers.put(node, List.of(readers.size()));
    }
    List<Node> all = List.copyOf(readers.keySet());
    return Placement.of(spec, readers, all, all.get(0), all);
  }

  private void next(String id, String... nodes) {
    next.put(id, place(jobs.get(id).getSpec(), nodes));
  }

  private Job finished(String id) {
    Job.Builder job = jobs.get(id).toBuilder();
    job.getAttemptsBuilder(0).setFinishedAt(at(9));
    return job.build();
  }

  private void set(String id, Job job) {
    jobs.put(id, job);
  }

  private void set(String id, JobState state) {
    jobs.put(id, jobs.get(id).toBuilder().setState(state).build());
  }

  private static Timestamp at(long second) {
    return Timestamp.newBuilder().setSeconds(second).build();
  }
}
