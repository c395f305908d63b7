package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_STORAGE_FULL;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.OwnRegion;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.BeginWriteResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.failure.NoOpFailureHandler;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/**
 * Nodes with and without a data region for the project's own caches.
 *
 * <p>Promise (memory): The project's caches use its region where every server node has it, else the
 * default one.
 */
@Category(Full.class)
public class ItOwnRegion {
  private static final long MIB = 1L << 20;
  private static final int BLOCK_BYTES = 1 << 20;
  private static final String OTHER = "other";

  @Rule public final TemporaryFolder work = new TemporaryFolder();

  private final String name = "own-region-" + UUID.randomUUID();
  private final List<Ignite> nodes = new ArrayList<>();
  private final List<Storage> stores = new ArrayList<>();
  private LoopbackNodes cluster;
  private int started;

  @Before
  public void choosePorts() throws Exception {
    cluster = new LoopbackNodes(10);
  }

  @After
  public void stopNodes() {
    stores.forEach(Storage::close);
    nodes.forEach(Ignite::close);
  }

  private static DataRegionConfiguration region(String name) {
    return new DataRegionConfiguration()
        .setName(name)
        .setInitialSize(16 * MIB)
        .setMaxSize(128 * MIB);
  }

  /** Starts a node with the default region and these ones. */
  private Ignite start(boolean persistent, DataRegionConfiguration... regions) {
    DataStorageConfiguration storage =
        LoopbackNodes.storage(
                new DataRegionConfiguration()
                    .setMaxSize(128 * MIB)
                    .setPersistenceEnabled(persistent))
            .setDataRegionConfigurations(regions);
    Ignite node =
        Ignition.start(
            cluster
                .configuration(name + "-" + started++, work.getRoot().toPath())
                .setFailureHandler(new NoOpFailureHandler())
                .setDataStorageConfiguration(storage));
    nodes.add(node);
    return node;
  }

  private Ignite startWith() {
    return start(false, region(OwnRegion.NAME));
  }

  private Ignite startWithout() {
    return start(false);
  }

  private static StorageSettings settings(String region) {
    return new StorageSettings("store", 1, region, BLOCK_BYTES, Duration.ofSeconds(120));
  }

  /** Creates all own caches, as each node's service does. */
  private Storage open(Ignite node) {
    for (SystemCache cache : SystemCache.values()) {
      cache.open(node);
    }
    Storage store = new Storage(node, settings(null));
    stores.add(store);
    return store;
  }

  /** The data regions of all own caches; "default" is Ignite's. */
  private static Set<String> regions(Ignite node) {
    Set<String> regions = new TreeSet<>();
    for (String cache : node.cacheNames()) {
      if (SystemCache.isSystem(node, cache)) {
        String region = region(node, cache);
        regions.add(region == null ? "default" : region);
      }
    }
    return regions;
  }

  // Ignite's method takes the class of a configuration without its types of key and value.
  @SuppressWarnings("unchecked")
  private static String region(Ignite node, String cache) {
    return node.cache(cache).getConfiguration(CacheConfiguration.class).getDataRegionName();
  }

  /** Ignite makes a node primary for partitions of a cache after it has all its copies. */
  private static void awaitCopies(Ignite node) {
    for (String cache : node.cacheNames()) {
      Await.until(
          "the node has its copies of " + cache,
          () -> node.affinity(cache).primaryPartitions(node.cluster().localNode()).length > 0);
    }
  }

  private static void write(Storage store, String path, int blocks) {
    BeginWriteResponse writer = store.writers().begin(StorageTest.beginning(path).build());
    store.writers().reserve(writer.getExtentId(), blocks);
    for (int number = 0; number < blocks; number++) {
      Block block = Block.of(new byte[BLOCK_BYTES], 0, BLOCK_BYTES);
      store.blocks().put(writer.getExtentId(), number, block);
    }
    long bytes = (long) blocks * BLOCK_BYTES;
    store.writers().publish(StorageTest.publication(writer, bytes).setDone(true).build());
  }

  private static IgniteCache<String, byte[]> rows(Ignite node) {
    return node.getOrCreateCache(new CacheConfiguration<String, byte[]>("rows").setBackups(1));
  }

  private static void put(Ignite node, int megabytes) {
    IgniteCache<String, byte[]> rows = rows(node);
    for (int key = 0; key < megabytes; key++) {
      MemoryReserve.of(node).put(Purpose.DATA, rows, "row " + key, new byte[1 << 20], "a row");
    }
  }

  private static void assertFull(TensorFlowIgniteException error, String region) {
    assertEquals(ERROR_CODE_STORAGE_FULL, error.code());
    String text = error.getMessage();
    assertTrue(text, text.contains("data region '" + region + "' of node"));
  }

  @Test
  public void fullFilesRefuseNoRowAndAUsersFullRegionRefusesNoFile() {
    startWith();
    Storage store = open(startWith());
    Ignite node = nodes.get(0);
    assertEquals(Set.of(OwnRegion.NAME), regions(node));
    write(store, "/checkpoint", 2);

    assertFull(
        assertThrows(TensorFlowIgniteException.class, () -> write(store, "/large", 1_000)),
        OwnRegion.NAME);
    put(node, 16);
    assertEquals(16, rows(node).size());

    assertFull(assertThrows(TensorFlowIgniteException.class, () -> put(node, 1_000)), "default");
    store.tree().remove(StorageTest.removal("/checkpoint").build());
    store.pendingTable().all().keySet().forEach(store.writers()::abandon);
    Await.until("files have memory again", () -> hasRoom(store));
    assertEquals(2, node.cluster().nodes().size());
  }

  private static boolean hasRoom(Storage store) {
    try {
      write(store, "/new checkpoint", 2);
      return true;
    } catch (TensorFlowIgniteException full) {
      assertEquals(ERROR_CODE_STORAGE_FULL, full.code());
      return false;
    }
  }

  @Test
  public void anExplicitRegionOfFilesWins() {
    Ignite node = start(false, region(OwnRegion.NAME), region(OTHER));
    stores.add(new Storage(node, settings(OTHER)));
    SystemCache.JOBS.open(node);

    assertEquals(OTHER, region(node, "store-files"));
    assertEquals(OTHER, region(node, "store-blocks"));
    assertEquals(OTHER, region(node, "store-small"));
    assertEquals(OwnRegion.NAME, region(node, SystemCache.JOBS.cacheName()));
  }

  @Test
  public void anExplicitRegionThatAnotherNodeLacksIsNamedWithTheNode() {
    Ignite node = start(false, region(OTHER));
    Ignite other = startWithout();

    TensorFlowIgniteException error =
        StorageTest.assertFails(
            ERROR_CODE_INVALID_REQUEST, () -> new Storage(node, settings(OTHER)));

    String text = error.getMessage();
    assertTrue(text, text.contains("'" + OTHER + "' is not configured on node "));
    assertTrue(text, text.contains(other.cluster().localNode().consistentId().toString()));
    assertEquals(2, node.cluster().nodes().size());
  }

  @Test
  public void oneNodeWithoutTheRegionLeavesAllCachesInTheDefaultOne() {
    Ignite node = startWith();
    startWithout();
    write(open(node), "/file", 2);

    assertEquals(Set.of("default"), regions(node));
    Storage joined = open(startWith());

    assertEquals(2L * BLOCK_BYTES, joined.tree().get("/file").getBytes());
    assertEquals(Set.of("default"), regions(nodes.get(2)));
  }

  @Test
  public void aClusterThatGetsTheRegionNodeByNodeKeepsItsCachesAndFiles() {
    write(open(startWithout()), "/file", 2);
    Storage store = open(startWith());
    stores.remove(0).close();
    awaitCopies(nodes.get(1));
    nodes.remove(0).close();

    Storage second = open(startWith());

    assertEquals(Set.of("default"), regions(nodes.get(0)));
    write(store, "/other", 2);
    assertEquals(2L * BLOCK_BYTES, second.tree().get("/file").getBytes());
    assertEquals(2L * BLOCK_BYTES, second.tree().get("/other").getBytes());
  }

  @Test
  public void aNodeWithoutTheRegionDoesNotJoinAndTheOthersGoOn() {
    Storage store = open(startWith());

    IgniteException error = assertThrows(IgniteException.class, this::startWithout);

    assertTrue(
        error.getMessage(),
        error.getMessage().contains("Requested DataRegion is not configured: tensorflow-ignite"));
    write(store, "/file", 2);
    Storage joined = open(startWith());
    assertEquals(2L * BLOCK_BYTES, joined.tree().get("/file").getBytes());
    assertEquals(2, nodes.get(0).cluster().nodes().size());
  }

  @Test
  public void aRegionTooSmallForTheCachesIsAnErrorAndEndsNoNode() {
    Ignite node = start(false, region(OwnRegion.NAME).setMaxSize(16 * MIB));

    assertFull(assertThrows(TensorFlowIgniteException.class, () -> open(node)), OwnRegion.NAME);

    assertEquals(1, node.cluster().nodes().size());
    put(node, 1);
  }

  @Test
  public void ofPersistentNodesARegionInMemoryGetsNoCaches() {
    Ignite node = start(true, region(OwnRegion.NAME));
    node.cluster().state(ClusterState.ACTIVE);

    OwnRegion.getOrCreate(node, new CacheConfiguration<>("own"));

    assertNull(region(node, "own"));
  }

  @Test
  public void filesOfPersistentNodesOutliveTheClusterInTheRegionWhereTheyBegan() {
    DataRegionConfiguration own = region(OwnRegion.NAME).setPersistenceEnabled(true);
    assertFilesOutliveARestart(OwnRegion.NAME, own);
  }

  @Test
  public void aPersistentClusterThatGetsTheRegionKeepsItsCachesAndFiles() {
    assertFilesOutliveARestart("default");
  }

  /** The nodes have the own region after the restart. */
  private void assertFilesOutliveARestart(String region, DataRegionConfiguration... before) {
    Ignite node = start(true, before);
    node.cluster().state(ClusterState.ACTIVE);
    write(open(node), "/file", 2);
    stores.remove(0).close();
    nodes.remove(0).close();

    Ignite restarted = start(true, region(OwnRegion.NAME).setPersistenceEnabled(true));
    restarted.cluster().state(ClusterState.ACTIVE);

    assertEquals(2L * BLOCK_BYTES, open(restarted).tree().get("/file").getBytes());
    assertEquals(Set.of(region), regions(restarted));
  }
}
