package io.tensorflowignite;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;
import org.junit.After;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A node that stops while its service must deploy a service. */
public class ItStop {
  /** Ignite ends the services of a node in any order: with many, one ends before ours. */
  private static final int OTHERS = 8;

  private static final long MEANWHILE_MS = 1_500;
  private static final long LIMIT_S = 28;
  private static final Map<String, String> SETTINGS =
      Map.of(
          "tensorflow.ignite.port", "0",
          "tensorflow.ignite.host", "127.0.0.1",
          "tensorflow.ignite.python", "/nowhere/python");
  private static final AtomicBoolean ENDING = new AtomicBoolean();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  /** Submits a job while Ignite waits for its end and holds the lock of services. */
  private static final class SlowEnd implements Service {
    private static final long serialVersionUID = 1L;

    @IgniteInstanceResource private transient Ignite ignite;

    @Override
    public void cancel() {
      if (ENDING.compareAndSet(false, true)) {
        new JobTable(ignite)
            .insert(Job.newBuilder().setId("late").setState(JOB_STATE_PENDING).build());
        try {
          Thread.sleep(MEANWHILE_MS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  @Before
  public void set() {
    SETTINGS.forEach(System::setProperty);
  }

  @After
  public void clear() {
    SETTINGS.keySet().forEach(System::clearProperty);
  }

  @Test
  public void aNodeStopsAtOnceThoughAJobNeedsItsServiceMeanwhile() throws Exception {
    Ignite node = Ignition.start(configuration());
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

  private static IgniteConfiguration configuration() throws IOException {
    return new LoopbackNodes(1)
        .configuration("stop", FOLDER.getRoot().toPath())
        .setServiceConfiguration(NodeService.of(new TensorFlowService()));
  }
}
