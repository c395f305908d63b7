package io.tensorflowignite;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.job.JobServices;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * A node that stops while its service must deploy a service.
 *
 * <p>Promise (nodes): A node stops at once, even if a job needs its service at that moment.
 */
public class ItStop {
  /** Ignite ends the services of a node in any order: with many, one ends before ours. */
  private static final int OTHERS = 8;

  /** Less than the time for which a node waits for its service. */
  private static final long LIMIT_S = 28;

  private static final Duration MEANWHILE = Duration.ofSeconds(5);
  private static final Duration POLL = Duration.ofMillis(20);
  private static final AtomicBoolean ENDING = new AtomicBoolean();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = new ServiceSettings("/nowhere/python");

  /** Submits a job while Ignite waits for its end and holds the lock of services. */
  private static final class SlowEnd implements Service {
    private static final long serialVersionUID = 1L;

    @IgniteInstanceResource private transient Ignite ignite;

    @Override
    public void cancel() {
      if (ENDING.compareAndSet(false, true)) {
        new JobTable(ignite)
            .insert(Job.newBuilder().setId("late").setState(JOB_STATE_PENDING).build());
        long end = System.nanoTime() + MEANWHILE.toNanos();
        while (!isHeldUp() && System.nanoTime() < end) {
          LockSupport.parkNanos(POLL.toNanos());
        }
      }
    }

    /** Whether our service waits for the lock; where it has ended before, it never does. */
    private static boolean isHeldUp() {
      return Thread.getAllStackTraces().entrySet().stream()
          .filter(thread -> thread.getKey().getState() != Thread.State.RUNNABLE)
          .flatMap(thread -> Arrays.stream(thread.getValue()))
          .anyMatch(call -> call.getClassName().equals(JobServices.class.getName()));
    }
  }

  @Test
  public void aNodeStopsAtOnceThoughAJobNeedsItsServiceMeanwhile() throws Exception {
    Ignite node =
        Ignition.start(
            new LoopbackNodes(1)
                .configuration("stop", FOLDER.getRoot().toPath())
                .setServiceConfiguration(NodeService.of(new TensorFlowService())));
    for (int i = 0; i < OTHERS; i++) {
      node.services().deployClusterSingleton("slow-" + i, new SlowEnd());
    }
    NodeService.address(node);

    long begin = System.nanoTime();
    node.close();

    long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
    assertTrue("the job was not submitted", ENDING.get());
    assertTrue("it took " + seconds + " s", seconds < LIMIT_S);
  }
}
