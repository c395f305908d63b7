package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_UNREADABLE;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Timestamp;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.table.LogReader;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.NodeLoop;
import io.tensorflowignite.v1.RemoveJobRequest;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.SubmitJobRequest;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.WatchJobRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/**
 * Bad rows, and errors in the threads, of a real node: each concerns only its own job or pass.
 *
 * <p>Promise (nodes): A bad row of a system cache concerns only its own job, node, report or chunk
 * of output.
 */
public class ItJobRows {
  private static final byte[] WRONG = {1, 2, 3, 4};

  /** States and phases of a later version have numbers that this one does not know. */
  private static final int LATER = 1000;

  private static final int OTHERS = 10;
  private static final int CALLS_OF_A_WAIT = 7;

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static final AtomicInteger JOBS = new AtomicInteger();
  private static RowsNode node;

  @BeforeClass
  public static void startNode() throws Exception {
    node = new RowsNode(new LoopbackNodes(1), "rows", FOLDER.getRoot().toPath());
  }

  @AfterClass
  public static void stopNode() throws InterruptedException {
    node.close();
  }

  @After
  public void clear() {
    node.raw(SystemCache.JOBS).clear();
    node.raw(SystemCache.REPORTS).clear();
  }

  @Test
  public void unreadableRowsAreListedWithTheReasonAndOtherJobsGoOn() {
    node.raw(SystemCache.JOBS).put("4bytes00", WRONG);
    node.raw(SystemCache.JOBS).put("text0000", "a text");
    node.raw(SystemCache.JOBS).put("another0", job("first000").build().toByteArray());
    node.raw(SystemCache.JOBS).put("empty000", new byte[0]);
    node.raw(SystemCache.JOBS)
        .put(
            "badtime0",
            job("badtime0")
                .setCreatedAt(Timestamp.newBuilder().setSeconds(Long.MAX_VALUE))
                .build()
                .toByteArray());
    node.raw(SystemCache.JOBS).put(7, WRONG);
    for (String id : List.of("4bytes00", "text0000", "another0", "empty000", "badtime0", "7")) {
      Job listed = node.listed(id).orElseThrow();
      assertEquals(JOB_STATE_UNREADABLE, listed.getState());
      assertFalse(id, listed.getCause().isEmpty());
    }
    String cause = node.described("4bytes00").getCause();
    assertTrue(cause, cause.contains("4 bytes"));
    assertOthersGoOn();
  }

  @Test
  public void anUnreadableJobIsRemovedByForceWithItsOutputAndFiles() {
    TaskKey task =
        TaskKey.newBuilder().setJobId("4bytes00").setAttempt(1).setRole(Role.ROLE_WORKER).build();
    new LogTable(node.ignite).put(task, LogChunk.getDefaultInstance(), Purpose.DATA);
    node.raw(SystemCache.JOBS).put("4bytes00", WRONG);

    assertCode("JOB_UNREADABLE", () -> node.api().removeJob(removal("4bytes00", false)));
    assertCode(
        "JOB_UNREADABLE",
        () -> node.api().stopJob(StopJobRequest.newBuilder().setJobId("4bytes00").build()));
    Iterator<?> watch =
        node.api().watchJob(WatchJobRequest.newBuilder().setJobId("4bytes00").build());
    assertCode("JOB_UNREADABLE", watch::next);

    node.api().removeJob(removal("4bytes00", true));
    assertFalse(node.listed("4bytes00").isPresent());
    assertEquals(0, node.raw(SystemCache.LOGS).size());
    assertOthersGoOn();
  }

  @Test
  public void aBadRowOfAnyKeyIsRemovedAndNothingOfOtherJobs() {
    put(job("kept0000").build());
    Await.until(
        "the job has failed", () -> node.described("kept0000").getState() == JOB_STATE_FAILED);
    for (String key : List.of("../jobs", "kept0000/logs", "")) {
      node.raw(SystemCache.JOBS).put(key, WRONG);
      node.api().removeJob(removal(key, true));
      assertFalse(node.listed(key).isPresent());
    }
    // It becomes a job that is over, and is in neither table for a moment.
    Await.until("the other job is listed", () -> node.listed("kept0000").isPresent());
  }

  @Test
  public void aReadableJobIsNotRemovedByForceBeforeItsEnd() {
    // First: a job whose cache does not exist ends.
    node.ignite.getOrCreateCache("rows");
    put(job("waiting0").setSpec(JobSpec.newBuilder().setCache("rows")).build());
    assertCode("JOB_NOT_FINISHED", () -> node.api().removeJob(removal("waiting0", true)));
  }

  @Test
  public void aRowWithAStateOfALaterVersionIsNotTouchedAndOtherJobsGoOn() {
    Job later =
        job("later000")
            .setStateValue(LATER)
            .addAttempts(attempt(AttemptPhase.ATTEMPT_PHASE_RUN_VALUE))
            .build();
    put(later);
    Job phase = job("phase000").setState(JOB_STATE_RUNNING).addAttempts(attempt(LATER)).build();
    put(phase);
    List<Job> others = new ArrayList<>();
    for (int other = 0; other < OTHERS; other++) {
      others.add(
          job("other0" + other)
              .setState(JOB_STATE_RESERVING)
              .addAttempts(attempt(AttemptPhase.ATTEMPT_PHASE_RESERVE_VALUE))
              .build());
    }
    others.forEach(ItJobRows::put);
    for (Job other : others) {
      Await.until(
          "the row of " + other.getId() + " has been changed",
          () ->
              !Arrays.equals(
                  other.toByteArray(), (byte[]) node.raw(SystemCache.JOBS).get(other.getId())));
    }
    assertOthersGoOn();
    assertEquals(LATER, node.listed("later000").orElseThrow().getStateValue());
    String waiting = node.described("later000").getWaitingFor();
    assertTrue(waiting, waiting.contains("later version"));
    for (Job job : List.of(later, phase)) {
      assertArrayEquals(job.toByteArray(), (byte[]) node.raw(SystemCache.JOBS).get(job.getId()));
      assertCode("JOB_UNREADABLE", () -> node.api().removeJob(removal(job.getId(), false)));
      node.api().removeJob(removal(job.getId(), true));
      assertFalse(node.listed(job.getId()).isPresent());
    }
  }

  @Test
  public void aRowThatContradictsItselfStopsOnlyItsOwnJobAndTheNodeSaysSo() {
    put(job("noattempt").setState(JOB_STATE_RUNNING).build());
    assertOthersGoOn();
    NodeLoop loop =
        Await.nonNull(
            "the node lists the loop of the job",
            () ->
                node.self().getLoopsList().stream()
                    .filter(fault -> fault.getName().contains("noattempt"))
                    .findFirst()
                    .orElse(null));
    assertFalse(loop.getError().isEmpty());
  }

  @Test
  public void badRowsOfNodesAreReplacedOrRemoved() {
    String self = node.self().getId();
    node.raw(SystemCache.NODES).put("no node id", WRONG);
    node.raw(SystemCache.NODES).put(7, WRONG);
    node.raw(SystemCache.NODES).put(self, WRONG);
    Await.until("one row is left", () -> node.raw(SystemCache.NODES).size() == 1);
    Await.until("the node has written its own row again", () -> nodeCount() == 1);
    assertEquals(self, node.self().getId());
    assertOthersGoOn();
  }

  @Test
  public void anUnreadableChunkOfOutputIsAGap() {
    TaskKey task =
        TaskKey.newBuilder().setJobId("gap00000").setAttempt(1).setRole(Role.ROLE_WORKER).build();
    LogTable logs = new LogTable(node.ignite);
    logs.put(task, LogChunk.newBuilder().setSequence(0).build(), Purpose.DATA);
    node.raw(SystemCache.LOGS).put("gap00000/1/WORKER/0/0/1", WRONG);
    logs.put(task, LogChunk.newBuilder().setSequence(2).build(), Purpose.DATA);
    List<LogChunk> read = new LogReader(logs, task).next();
    assertEquals(3, read.size());
    assertEquals(WRONG.length, read.get(1).getDroppedBytes());
    assertEquals(2, read.get(2).getSequence());
    logs.remove(task);
    assertEquals(0, node.raw(SystemCache.LOGS).size());
  }

  /** What an Error does to a loop is shown without a node, in LoopTest. */
  @Test
  public void anInterruptionOfALoopIsListedAndTheLoopGoesOn() {
    assertOthersGoOn();
    for (String name : List.of("service", "node-runner")) {
      Thread thread = thread(name);
      Await.until("thread " + name + " waits", () -> waits(thread));
      thread.interrupt();
    }
    for (String name : List.of("reconciler", "node runner")) {
      Await.until(
          "the node lists the error of loop " + name,
          () ->
              node.self().getLoopsList().stream()
                  .anyMatch(loop -> loop.getName().equals(name) && !loop.getError().isEmpty()));
    }
    assertOthersGoOn();
    for (String name : List.of("service", "node-runner")) {
      assertTrue(name, thread(name).isAlive());
    }
  }

  /** Whether a thread waits for its next pass, in a method of java.util.concurrent. */
  private static boolean waits(Thread thread) {
    return thread.getState() == Thread.State.TIMED_WAITING
        && Arrays.stream(thread.getStackTrace())
            .limit(CALLS_OF_A_WAIT)
            .anyMatch(
                call ->
                    call.getMethodName().equals("tryAcquire")
                        || call.getClassName().endsWith("LinkedBlockingQueue"));
  }

  private static Thread thread(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("tensorflow-ignite-" + name))
        .findFirst()
        .orElseThrow();
  }

  private static int nodeCount() {
    return node.api().listNodes(ListNodesRequest.getDefaultInstance()).getNodesCount();
  }

  /** A job without a cache fails; so its service was deployed and has served it. */
  private static void assertOthersGoOn() {
    String id = String.format("other%03d", JOBS.incrementAndGet());
    put(job(id).build());
    Await.until(
        "job " + id + " has failed, as it has no cache",
        () -> node.described(id).getState() == JOB_STATE_FAILED);
    assertCode(
        "INVALID_REQUEST",
        () -> node.api().submitJob(SubmitJobRequest.newBuilder().setRequestId(id).build()));
    node.api().removeJob(removal(id, false));
  }

  private static Attempt attempt(int phase) {
    Task.Builder task = Task.newBuilder().setRole(Role.ROLE_WORKER).setNodeId(node.self().getId());
    return Attempt.newBuilder().setNumber(1).setPhaseValue(phase).addTasks(task).build();
  }

  private static Job.Builder job(String id) {
    return Job.newBuilder().setId(id).setState(JOB_STATE_PENDING);
  }

  private static void put(Job job) {
    node.raw(SystemCache.JOBS).put(job.getId(), job.toByteArray());
  }

  private static RemoveJobRequest removal(String id, boolean force) {
    return RemoveJobRequest.newBuilder().setJobId(id).setForce(force).build();
  }

  private static void assertCode(String code, ThrowingRunnable call) {
    StatusRuntimeException refused = assertThrows(StatusRuntimeException.class, call);
    String text = refused.getStatus().getDescription();
    assertTrue(text, text.endsWith("[code=" + code + "]"));
  }
}
