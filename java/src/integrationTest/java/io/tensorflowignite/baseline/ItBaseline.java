package io.tensorflowignite.baseline;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.BaselineState;
import io.tensorflowignite.v1.ChangeBaselineRequest;
import io.tensorflowignite.v1.ErrorCode;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** The baseline of nodes with data on disk. */
@Category(Full.class)
public class ItBaseline {
  private static final String MEMORY = "memory";
  private static final int PARTITIONS = 16;
  private static final int ROWS = 200;

  @Rule public final TemporaryFolder work = new TemporaryFolder();

  private final Map<String, Ignite> nodes = new LinkedHashMap<>();
  private LoopbackNodes cluster;

  @Before
  public void choosePorts() throws IOException {
    cluster = new LoopbackNodes(4);
  }

  @After
  public void stopNodes() {
    nodes.values().forEach(Ignite::close);
  }

  @Test
  public void aNodeThatWasAddedGetsPartitionsAndOneThatHasLeftIsRemoved() {
    activate("a", "b");
    IgniteCache<Integer, Integer> rows = load("rows", 1, null);
    Ignite added = start("c", true);
    assertEquals("{a=online, b=online, c=outside}", state());
    assertEquals(Set.of("c"), Baseline.outside(first()));
    assertEquals(0, added.cache("rows").localSize(CachePeekMode.ALL));

    change(ChangeBaselineRequest.newBuilder().setAddOnline(true));
    assertEquals("{a=online, b=online, c=online}", state());
    Await.until("it gets rows", () -> added.cache("rows").localSize(CachePeekMode.PRIMARY) > 0);

    refuse(ERROR_CODE_INVALID_REQUEST, ChangeBaselineRequest.newBuilder().addRemove("b"));
    stop("b");
    assertEquals("{a=online, b=offline, c=online}", state());
    change(ChangeBaselineRequest.newBuilder().addRemove("b"));
    assertEquals("{a=online, c=online}", state());
    assertEquals(ROWS, rows.size());
    Await.until(
        "both nodes have all rows",
        () -> nodes.values().stream().allMatch(node -> local(node, "rows") == ROWS));
  }

  @Test
  public void rowsThatOnlyTheDiskOfAnOfflineNodeHasAreLostByForceAlone() {
    Ignite here = activate("a", "b");
    IgniteCache<Integer, Integer> single = load("single", 0, null);
    load("copied", 1, null);
    load("volatile", 0, MEMORY);
    int kept = local(here, "single");
    assertTrue(String.valueOf(kept), kept > 0 && kept < ROWS);
    stop("b");
    String text = refuse(ERROR_CODE_DATA_LOST, ChangeBaselineRequest.newBuilder().addRemove("b"));
    assertTrue(text, text.contains(" of cache single)"));
    assertTrue(text, text.contains("whose disks have them (b)"));
    start("c", true);
    refuse(ERROR_CODE_DATA_LOST, ChangeBaselineRequest.newBuilder().setAddOnline(true));
    assertEquals("{a=online, b=offline, c=outside}", state());

    start("b", true);
    CacheLosses losses = new CacheLosses(here);
    SystemCache.LOSSES.open(here);
    assertFalse(losses.accept("single", "").isEmpty());
    assertEquals(ROWS, single.size());

    stop("b");
    change(ChangeBaselineRequest.newBuilder().addRemove("b").setForce(true));
    assertEquals("{a=online, c=outside}", state());
    assertFalse("the loss is not hidden", losses.remembered("single").isEmpty());
    losses.accept("single", "");
    assertEquals(kept, single.size());
    change(ChangeBaselineRequest.newBuilder().addAdd("c"));
    assertEquals("{a=online, c=online}", state());
    assertEquals(kept, single.size());
  }

  @Test
  public void changesOfOneNodeAtTheSameTimeAreEachMadeOrRefused() throws Exception {
    changeTogether("a", "a");
  }

  @Test
  public void changesOfTwoNodesAtTheSameTimeAreEachMadeOrRefused() throws Exception {
    changeTogether("a", "b");
  }

  private void changeTogether(String one, String other) throws Exception {
    activate("a", "b");
    load("rows", 0, null);
    start("c", true);
    start("d", true);
    ExecutorService callers = Executors.newFixedThreadPool(2);
    try {
      List<Callable<Boolean>> changes = List.of(() -> isAdded(one, "c"), () -> isAdded(other, "d"));
      List<Future<Boolean>> results = callers.invokeAll(changes, 1, TimeUnit.MINUTES);
      assertTrue(results.get(0).get() || results.get(1).get());
    } finally {
      callers.shutdownNow();
    }
    change(ChangeBaselineRequest.newBuilder().setAddOnline(true));
    assertEquals("{a=online, b=online, c=online, d=online}", state());
    assertEquals(ROWS, first().cache("rows").size());
  }

  /** Whether a node is added; otherwise the change was refused. */
  private boolean isAdded(String caller, String name) {
    Ignite node = nodes.get(caller);
    try {
      Baseline.change(node, ChangeBaselineRequest.newBuilder().addAdd(name).build());
    } catch (TensorFlowIgniteException refused) {
      assertEquals(ERROR_CODE_INVALID_REQUEST, refused.code());
      return false;
    }
    assertFalse(Baseline.outside(node).contains(name));
    return true;
  }

  @Test
  public void inMemoryIgniteAdjustsTheBaselineItself() {
    Ignite node = start("a", false);
    assertTrue(Baseline.state(node, Map.of()).getIsAutomatic());
    assertEquals(Set.of(), Baseline.outside(node));
    refuse(ERROR_CODE_INVALID_REQUEST, ChangeBaselineRequest.newBuilder().setAddOnline(true));
  }

  /** The nodes as the first one knows them. */
  private String state() {
    BaselineState state = Baseline.state(first(), Map.of());
    assertFalse(state.getIsAutomatic());
    Map<String, String> texts = new TreeMap<>();
    state
        .getNodesList()
        .forEach(
            node -> {
              assertFalse("an address of the host", node.getAddress().isEmpty());
              texts.put(
                  node.getConsistentId(),
                  !node.getIsMember() ? "outside" : node.getIsOnline() ? "online" : "offline");
            });
    return texts.toString();
  }

  private void change(ChangeBaselineRequest.Builder request) {
    Baseline.change(first(), request.build());
  }

  private String refuse(ErrorCode code, ChangeBaselineRequest.Builder request) {
    TensorFlowIgniteException refused =
        assertThrows(TensorFlowIgniteException.class, () -> change(request));
    assertEquals(code, refused.code());
    return refused.getMessage();
  }

  private Ignite first() {
    return nodes.values().iterator().next();
  }

  private static int local(Ignite node, String cache) {
    return node.cache(cache).localSize(CachePeekMode.PRIMARY, CachePeekMode.BACKUP);
  }

  private IgniteCache<Integer, Integer> load(String name, int backups, String region) {
    IgniteCache<Integer, Integer> cache =
        first()
            .createCache(
                new CacheConfiguration<Integer, Integer>(name)
                    .setBackups(backups)
                    .setDataRegionName(region)
                    .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS)));
    for (int row = 0; row < ROWS; row++) {
      cache.put(row, row);
    }
    return cache;
  }

  /** Starts the nodes of the first baseline. */
  private Ignite activate(String... names) {
    for (String name : names) {
      start(name, true);
    }
    first().cluster().state(ClusterState.ACTIVE);
    return first();
  }

  private Ignite start(String name, boolean persistent) {
    DataStorageConfiguration storage =
        LoopbackNodes.storage(
                new DataRegionConfiguration()
                    .setMaxSize(128L << 20)
                    .setPersistenceEnabled(persistent))
            .setWalSegmentSize(4 << 20)
            .setDataRegionConfigurations(
                new DataRegionConfiguration()
                    .setName(MEMORY)
                    .setInitialSize(16L << 20)
                    .setMaxSize(32L << 20));
    Ignite node =
        Ignition.start(
            cluster
                .configuration(name, work.getRoot().toPath())
                .setConsistentId(name)
                .setDataStorageConfiguration(storage));
    nodes.put(name, node);
    return node;
  }

  private void stop(String name) {
    nodes.remove(name).close();
    Await.until(
        "the others notice it",
        () -> first().cluster().forServers().nodes().size() == nodes.size());
  }
}
