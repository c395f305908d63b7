package io.tensorflowignite;

import static org.junit.Assert.assertTrue;

import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
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

/** A node that is told to stop while its service has something to ask of Ignite. */
public class ItStop {
  /** Ignite ends the services of a node in no order: one of many comes before ours. */
  private static final int OTHERS = 8;

  private static final long MEANWHILE_MS = 1_500;
  private static final long LIMIT_S = 15;
  private static final Map<String, String> SETTINGS =
      Map.of(
          "tensorflow.ignite.port", "0",
          "tensorflow.ignite.host", "127.0.0.1",
          "tensorflow.ignite.python", "/nowhere/python");
  private static final AtomicBoolean ENDING = new AtomicBoolean();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  /** While Ignite waits for its end, and holds its lock of services, a job comes up. */
  private static final class SlowEnd implements Service {
    private static final long serialVersionUID = 1L;

    @IgniteInstanceResource private transient Ignite ignite;

    @Override
    public void cancel() {
      if (ENDING.compareAndSet(false, true)) {
        new JobTable(ignite)
            .insert(Job.newBuilder().setId("late").setState(JobState.PENDING).build());
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
    assertTrue("the job did not come up", ENDING.get());
    assertTrue("it took " + seconds + " s", seconds < LIMIT_S);
  }

  private static IgniteConfiguration configuration() throws IOException {
    return new LoopbackNodes(1)
        .configuration("stop", FOLDER.getRoot().toPath())
        .setServiceConfiguration(NodeService.of(new TensorFlowService()));
  }
}
