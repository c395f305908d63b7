package io.tensorflowignite.region;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataPageEvictionMode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Two nodes with regions of different sizes: a write is rejected for the node that is full.
 *
 * <p>Promise (memory): Nothing that the project stores fills a node's memory.
 */
public class ItMemoryReserve {
  private static final long MIB = 1L << 20;
  private static final String SMALL = "small";
  private static final String EVICTING = "evicting";

  @ClassRule public static final TemporaryFolder WORK = new TemporaryFolder();

  private static final List<Ignite> NODES = new ArrayList<>();

  @BeforeClass
  public static void startNodes() throws Exception {
    LoopbackNodes cluster = new LoopbackNodes(4);
    String name = "memory-" + UUID.randomUUID();
    for (int number = 0; number < 2; number++) {
      // The other node has half of the first one's memory.
      DataStorageConfiguration storage =
          LoopbackNodes.storage(new DataRegionConfiguration().setMaxSize(256 * MIB))
              .setDataRegionConfigurations(
                  region(SMALL, (number == 0 ? 128 : 64) * MIB),
                  region(EVICTING, 32 * MIB).setPageEvictionMode(DataPageEvictionMode.RANDOM_LRU));
      NODES.add(
          Ignition.start(
              cluster
                  .configuration(name + "-" + number, WORK.getRoot().toPath())
                  .setDataStorageConfiguration(storage)));
    }
  }

  @AfterClass
  public static void stopNodes() {
    NODES.forEach(Ignite::close);
  }

  private static DataRegionConfiguration region(String name, long bytes) {
    return new DataRegionConfiguration().setName(name).setInitialSize(16 * MIB).setMaxSize(bytes);
  }

  private static IgniteCache<String, byte[]> cache(String name, String region) {
    return NODES
        .get(0)
        .getOrCreateCache(
            new CacheConfiguration<String, byte[]>(name)
                .setCacheMode(CacheMode.REPLICATED)
                .setDataRegionName(region));
  }

  private static TensorFlowIgniteException fill(IgniteCache<String, byte[]> cache) {
    MemoryReserve memory = MemoryReserve.of(NODES.get(0));
    return assertThrows(
        TensorFlowIgniteException.class,
        () -> {
          for (int key = 0; key < 1_000; key++) {
            memory.put(Purpose.DATA, cache, "key " + key, new byte[1 << 20], "a value");
          }
        });
  }

  @Test
  public void aWriteIsRejectedForTheNodeWithTheLeastMemory() {
    IgniteCache<String, byte[]> cache = cache("rows", SMALL);

    TensorFlowIgniteException full = fill(cache);

    assertEquals(ErrorCode.ERROR_CODE_STORAGE_FULL, full.code());
    assertTrue(full.getMessage(), full.getMessage().contains("data region 'small' of node"));
    assertTrue(full.getMessage(), full.getMessage().contains("of 67,108,864 bytes in use"));
    // Half of 64 MiB is reserved.
    assertTrue("" + cache.size(), cache.size() > 24 && cache.size() < 32);
    MemoryReserve memory = MemoryReserve.of(NODES.get(0));
    memory.put(Purpose.ENTRY, cache, "entry", new byte[1 << 20], "an entry");
    assertEquals(2, NODES.get(0).cluster().nodes().size());

    cache.clear();
    // A write does not measure again if the last measurement is too recent.
    Await.until("the memory is measured again", () -> hasRoom(cache));
    cache.destroy();
  }

  private static boolean hasRoom(IgniteCache<String, byte[]> cache) {
    try {
      MemoryReserve.of(NODES.get(0)).put(Purpose.DATA, cache, "key", new byte[1 << 20], "a value");
      return true;
    } catch (TensorFlowIgniteException full) {
      return false;
    }
  }

  @Test
  public void partitionsOfANewCacheNeedMemoryOfItsRegionOnEveryNode() {
    // 40 MiB; the other node has 64 MiB, and half of them are reserved.
    CacheConfiguration<String, byte[]> many =
        new CacheConfiguration<String, byte[]>("many")
            .setCacheMode(CacheMode.REPLICATED)
            .setAffinity(new RendezvousAffinityFunction(false, 5_120))
            .setDataRegionName(SMALL);

    TensorFlowIgniteException full =
        assertThrows(
            TensorFlowIgniteException.class,
            () -> PartitionMemory.reserve(NODES.get(0), Purpose.DATA, many));

    assertEquals(ErrorCode.ERROR_CODE_STORAGE_FULL, full.code());
    String text = full.getMessage();
    Object other = NODES.get(1).cluster().localNode().consistentId();
    assertTrue(text, text.contains("the 5,120 partitions of cache many of 41,943,040 bytes"));
    assertTrue(text, text.contains("data region 'small' of node " + other + " has"));
    assertTrue(text, text.contains("Set fewer partitions"));
    PartitionMemory.reserve(NODES.get(0), Purpose.DATA, many.setDataRegionName(null)).close();
  }

  @Test
  public void aRegionThatEvictsPagesIsNeverFull() {
    IgniteCache<String, byte[]> cache = cache("evicted", EVICTING);
    MemoryReserve memory = MemoryReserve.of(NODES.get(0));

    for (int key = 0; key < 64; key++) {
      memory.put(Purpose.DATA, cache, "key " + key, new byte[1 << 20], "a value");
    }

    assertEquals(2, NODES.get(0).cluster().nodes().size());
    cache.destroy();
  }
}
