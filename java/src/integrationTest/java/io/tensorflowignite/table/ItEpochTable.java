package io.tensorflowignite.table;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** The agreement on the rows of epochs, in the table of two real nodes. */
@Category(Full.class)
public class ItEpochTable {
  private static final int EPOCHS = 500;

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static Ignite node;
  private static Ignite other;

  @BeforeClass
  public static void start() throws Exception {
    LoopbackNodes nodes = new LoopbackNodes(8);
    node = Ignition.start(nodes.configuration("first", FOLDER.newFolder().toPath()));
    other = Ignition.start(nodes.configuration("second", FOLDER.newFolder().toPath()));
  }

  @AfterClass
  public static void stop() {
    other.close();
    node.close();
  }

  @Test
  public void workersThatAddTheirRowsAtTheSameMomentGetTheNumbersOfAll() throws Exception {
    CyclicBarrier together = new CyclicBarrier(2);
    ExecutorService workers = Executors.newFixedThreadPool(2);
    try {
      Future<?> first = workers.submit(() -> addAll(new EpochTable(node), 0, together));
      Future<?> second = workers.submit(() -> addAll(new EpochTable(other), 1, together));
      first.get(2, TimeUnit.MINUTES);
      second.get(2, TimeUnit.MINUTES);
    } finally {
      workers.shutdownNow();
    }
  }

  private static Void addAll(EpochTable table, int worker, CyclicBarrier together)
      throws Exception {
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
      Optional<List<Long>> agreed = Optional.empty();
      together.await(1, TimeUnit.MINUTES);
      for (int call = 0; agreed.isEmpty(); call++) {
        Thread.sleep(call == 0 ? 0 : 5);
        agreed = table.add("job/1/rows/" + epoch, worker, 100L + worker, 2, List.of());
      }
      assertEquals(List.of(100L, 101L), agreed.get());
    }
    return null;
  }
}
