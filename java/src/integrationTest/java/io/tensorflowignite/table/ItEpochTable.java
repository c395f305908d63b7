package io.tensorflowignite.table;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.Full;
import io.tensorflowignite.PlainNodes;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/** The agreement on the rows of epochs, in the table of two real nodes. */
@Category(Full.class)
public class ItEpochTable {
  private static final int EPOCHS = 500;

  @ClassRule public static final PlainNodes NODES = PlainNodes.shared();

  @Test
  public void workersThatAddTheirRowsAtTheSameMomentGetTheNumbersOfAll() throws Exception {
    CyclicBarrier together = new CyclicBarrier(2);
    ExecutorService workers = Executors.newFixedThreadPool(2);
    try {
      Future<?> first = workers.submit(() -> addAll(new EpochTable(NODES.node(0)), 0, together));
      Future<?> second = workers.submit(() -> addAll(new EpochTable(NODES.node(1)), 1, together));
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
