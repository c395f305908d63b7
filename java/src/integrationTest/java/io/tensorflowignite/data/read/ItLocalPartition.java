package io.tensorflowignite.data.read;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.ignite.LocalPartition;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.cache.Cache;
import javax.cache.expiry.CreatedExpiryPolicy;
import javax.cache.expiry.Duration;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.util.IgniteUtils;
import org.junit.ClassRule;
import org.junit.Test;

/** Rows that are looked up one by one are those of a scan. */
public class ItLocalPartition {
  private static final int PARTITIONS = 4;
  private static final int ROWS = 4_000;
  private static final int BYTES = 2_000;

  @ClassRule public static final PlainNodes NODES = new PlainNodes(1);

  private static IgniteCache<Object, Object> cache(String name, CacheAtomicityMode mode) {
    return NODES
        .node(0)
        .getOrCreateCache(
            new CacheConfiguration<>(name)
                .setGroupName("group " + mode)
                .setAtomicityMode(mode)
                .setEagerTtl(false)
                .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS)))
        .withKeepBinary();
  }

  private static Map<Object, Object> scanned(IgniteCache<Object, Object> cache, int partition) {
    Map<Object, Object> rows = new HashMap<>();
    cache
        .query(new ScanQuery<>(partition).setLocal(true))
        .forEach(row -> rows.put(row.getKey(), row.getValue()));
    return rows;
  }

  private static Map<Object, Object> lookedUp(IgniteCache<Object, Object> cache, int partition) {
    Map<Object, Object> rows = new HashMap<>();
    try (LocalPartition reserved = LocalPartition.reserve(cache, partition)) {
      for (Iterator<Cache.Entry<Object, Object>> all = reserved.rows(); all.hasNext(); ) {
        Cache.Entry<Object, Object> row = all.next();
        rows.put(row.getKey(), row.getValue());
      }
    }
    return rows;
  }

  @Test
  public void rowsThatAreLookedUpAreThoseOfAScanInBothAtomicityModesAndInASharedGroup() {
    for (CacheAtomicityMode mode :
        List.of(CacheAtomicityMode.ATOMIC, CacheAtomicityMode.TRANSACTIONAL)) {
      IgniteCache<Object, Object> cache = cache("rows " + mode, mode);
      for (int id = 0; id < ROWS; id++) {
        Object key = id % 2 == 0 ? (Object) id : "key " + id;
        Object value =
            id % 3 == 0
                ? "value " + id
                : NODES
                    .node(0)
                    .binary()
                    .builder("Row")
                    .setField("id", id)
                    .setField("text", "t" + id)
                    .build();
        cache.put(key, value);
      }
      int rows = 0;
      for (int partition = 0; partition < PARTITIONS; partition++) {
        Map<Object, Object> expected = scanned(cache, partition);
        assertEquals(expected, lookedUp(cache, partition));
        try (LocalPartition reserved = LocalPartition.reserve(cache, partition)) {
          assertEquals(expected.size(), reserved.size());
        }
        rows += expected.size();
      }
      assertEquals(ROWS, rows);
    }
  }

  @Test
  public void anExpiredRowIsLeftOut() {
    IgniteCache<Object, Object> cache = cache("expiring", CacheAtomicityMode.ATOMIC);
    cache.put("stays", 1);
    cache
        .withExpiryPolicy(new CreatedExpiryPolicy(new Duration(TimeUnit.MILLISECONDS, 1)))
        .put("goes", 2);
    long put = IgniteUtils.currentTimeMillis();
    Await.until("the row has expired", () -> IgniteUtils.currentTimeMillis() > put + 1);
    Map<Object, Object> rows = new HashMap<>();
    for (int partition = 0; partition < PARTITIONS; partition++) {
      rows.putAll(lookedUp(cache, partition));
    }
    assertEquals(Map.of("stays", 1), rows);
  }

  @Test
  public void aScanIsEstimatedByTheRowsOfAPageAndRefusedWithoutMemory() {
    IgniteCache<Object, Object> cache = cache("estimated", CacheAtomicityMode.ATOMIC);
    for (int id = 0; id < ROWS; id++) {
      cache.put(id, new byte[BYTES]);
    }
    try (LocalPartition partition = LocalPartition.reserve(cache, 0)) {
      long bytes = ScanMemory.estimate(partition, ScanMemory.rowBytes(partition));
      assertTrue("" + bytes, bytes > 300 * BYTES && bytes < 400 * BYTES);
      ScanMemory memory = new ScanMemory(2 * bytes);
      assertTrue(memory.reserve(bytes));
      assertTrue(memory.reserve(bytes));
      assertFalse(memory.reserve(1));
      memory.release(bytes);
      assertTrue(memory.reserve(bytes));
    }
  }
}
