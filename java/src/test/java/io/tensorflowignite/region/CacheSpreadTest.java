package io.tensorflowignite.region;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Random;
import org.junit.Test;

public class CacheSpreadTest {
  private static final double DELTA = 0.01;

  private static RowSizes rows(int count, long bytes) {
    RowSizes sizes = new RowSizes();
    for (int i = 0; i < count; i++) {
      sizes.add(bytes);
    }
    return sizes;
  }

  @Test
  public void aSingleRowNeedsItsWholeSizeOnEachNodeThatMayStoreIt() {
    for (double share : new double[] {0.5, 0.25, 0.02}) {
      assertEquals(90 << 20, CacheSpread.part(rows(1, 90 << 20), share));
    }
  }

  @Test
  public void manyRowsNeedLittleMoreThanTheShareOfANode() {
    RowSizes rows = rows(65_536, 1_000);
    assertEquals(1, CacheSpread.part(rows, 0.25) / (0.25 * rows.total()), 0.03);
  }

  @Test
  public void aNodeThatStoresAllCopiesNeedsTheirSize() {
    RowSizes rows = rows(7, 1_000);
    assertEquals(7_000, CacheSpread.part(rows, 1), DELTA);
    // The shares of a node's partitions are added, and their sum may be a little more.
    assertEquals(7_000, CacheSpread.part(rows, 1 + 1e-12), DELTA);
  }

  @Test
  public void rowsOfDifferentSizesSeldomExceedWhatIsReserved() {
    Random random = new Random(5);
    int exceeded = 0;
    for (int trial = 0; trial < 10_000; trial++) {
      RowSizes rows = new RowSizes();
      long stored = 0;
      for (int row = 0; row < 40; row++) {
        long bytes = 1L << random.nextInt(27);
        rows.add(bytes);
        stored += random.nextDouble() < 0.3 ? bytes : 0;
      }
      exceeded += stored > CacheSpread.part(rows, 0.3) ? 1 : 0;
    }
    assertTrue("exceeded: " + exceeded, exceeded <= 10);
  }
}
