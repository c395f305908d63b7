package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.Job;
import java.util.Arrays;
import java.util.List;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Errors in the threads of a real node. */
public class ItLoops {
  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static final int CALLS_OF_A_WAIT = 7;

  private static RowsNode node;

  @BeforeClass
  public static void startNode() throws Exception {
    node = new RowsNode(new LoopbackNodes(1), "loops", FOLDER.getRoot().toPath());
  }

  @AfterClass
  public static void stopNode() throws InterruptedException {
    node.close();
  }

  /** What an Error does to a loop is shown without a node, in LoopTest. */
  @Test
  public void anInterruptionOfALoopIsListedAndTheLoopGoesOn() {
    assertJobIsServed("before00");
    for (String name : List.of("service", "node-runner")) {
      Thread thread = thread(name);
      Await.until("thread " + name + " waits", () -> waits(thread));
      thread.interrupt();
    }
    for (String name : List.of("reconciler", "node runner")) {
      Await.until(
          "the node's row shows the error of loop " + name,
          () ->
              new NodeTable(node.ignite)
                  .live().stream()
                      .flatMap(row -> row.getLoopsList().stream())
                      .anyMatch(loop -> loop.getName().equals(name) && !loop.getError().isEmpty()));
    }
    assertJobIsServed("after000");
    for (String name : List.of("service", "node-runner")) {
      assertTrue(name, thread(name).isAlive());
    }
  }

  /** A job without a cache fails, if the reconciler deploys its service. */
  private static void assertJobIsServed(String id) {
    Job job = Job.newBuilder().setId(id).setState(JOB_STATE_PENDING).build();
    node.raw(SystemCache.JOBS).put(id, job.toByteArray());
    Await.until(
        "job " + id + " has failed", () -> node.described(id).getState() == JOB_STATE_FAILED);
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
}
