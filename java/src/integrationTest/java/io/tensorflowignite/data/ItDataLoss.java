package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.table.LossTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.CacheLoss;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.PartitionLossPolicy;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgniteNodeAttributes;
import org.apache.ignite.lang.IgnitePredicate;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Partitions without any copy are an error, until somebody accepts that or loads them again.
 *
 * <p>Promise (rows): Lost rows stay lost until somebody accepts the loss or the cache ends.
 *
 * <p>Promise (files): A loss is listed until somebody accepts it.
 */
public class ItDataLoss {
  private static final int PARTITIONS = 24;
  private static final int ROWS = 240;

  @Rule public final TemporaryFolder work = new TemporaryFolder();

  private DataCluster cluster;

  @Before
  public void startNodes() throws Exception {
    cluster = DataCluster.start(3);
    cluster.storeLosses();
  }

  @After
  public void stopNodes() throws Exception {
    cluster.close();
  }

  @Test
  public void rowsThatAreLostStayLostUntilSomebodyAcceptsThat() throws Exception {
    load("none", 0, configuration -> {});
    load("one", 1, configuration -> {});
    load("all", 0, configuration -> configuration.setCacheMode(CacheMode.REPLICATED));
    List<Integer> lost = onlyOn("none", 2);
    List<Integer> kept = others(lost);

    stopLastNode();
    // Before the next second: a loss that is not stored yet is known to its nodes.
    assertLost("none");
    assertEquals(rows("none", kept), read(command("none").addAllPartitions(kept)));
    cluster.storeLosses();
    cluster.addNode();
    cluster.storeLosses();
    Await.until("the new node owns partitions", () -> owns("none", 2) && owns("one", 2));
    for (int node = 0; node < 3; node++) {
      assertEquals(lost, List.copyOf(cluster.losses(node).permanent("none")));
      assertTrue(cluster.losses(node).permanent("one").isEmpty());
      assertTrue(cluster.losses(node).permanent("all").isEmpty());
    }
    assertLost("none");
    assertEquals(ROWS, read(command("one")));
    assertEquals(ROWS, read(command("all")));

    assertEquals(rows("none", kept), read(command("none").setAcceptDataLoss(true)));
    assertLost("none");
    assertEquals(lost, List.copyOf(cluster.losses(1).accept("none", "")));
    assertEquals(rows("none", kept), read(command("none")));
    cluster.storeLosses();
    assertTrue(cluster.losses(1).accept("none", "").isEmpty());
  }

  @Test
  @SuppressWarnings(
      "deprecation") // Nothing else keeps a copy incomplete for as long as a test needs.
  public void aCopyThatIsStillBeingMadeIsNoCopy() throws Exception {
    // Copies are made only on request, which never comes.
    load("slow", 1, configuration -> configuration.setRebalanceDelay(-1));
    List<Integer> lost = onlyOn("slow", 1, 2);
    assertFalse(lost.isEmpty());

    stopLastNode();
    cluster.storeLosses();
    assertEquals(ROWS, read(command("slow")));
    stopLastNode();
    assertLost("slow");
    cluster.storeLosses();
    assertEquals(lost, List.copyOf(cluster.losses(0).permanent("slow")));
    assertEquals(rows("slow", others(lost)), read(command("slow").setAcceptDataLoss(true)));
  }

  @Test
  public void aLossEndsWithItsCacheAndIgnitesOwnLossesCount() throws Exception {
    load("again", 0, configuration -> {});
    load("one-node", 0, configuration -> configuration.setNodeFilter(new LastNode()));
    loadSafe();
    List<Integer> lost = onlyOn("safe", 2);
    stopLastNode();
    cluster.storeLosses();

    assertLost("again");
    Ignite ignite = cluster.node(0);
    ignite.destroyCache("again");
    load("again", 0, configuration -> {});
    assertEquals(ROWS, read(command("again")));

    assertEquals(PARTITIONS, cluster.losses(1).permanent("one-node").size());

    assertLost("safe");
    assertEquals(lost, List.copyOf(cluster.losses(1).permanent("safe")));
    assertEquals(rows("safe", others(lost)), read(command("safe").setAcceptDataLoss(true)));
    cluster.losses(0).accept("safe", "");
    assertEquals(rows("safe", others(lost)), read(command("safe")));
  }

  @Test
  public void aLossOfAJoinedCacheIsOneOfTheRowsThatAreJoined() throws Exception {
    load("kept", 1, configuration -> configuration.setIndexedTypes(Integer.class, Integer.class));
    load("gone", 0, configuration -> configuration.setIndexedTypes(Integer.class, Integer.class));
    loadSafe();
    List<Integer> lost = onlyOn("gone", 2);
    List<Integer> kept = others(lost);
    String select = "SELECT k._key AS a, g._val AS b FROM \"kept\".\"INTEGER\" k LEFT JOIN ";
    ReadCommand.Builder gone =
        command("kept").setSql(select + "\"gone\".\"INTEGER\" g ON g._key = k._key");
    ReadCommand.Builder safe =
        command("kept").setSql(select + "\"safe\".\"INTEGER\" g ON g._key = k._key");
    assertEquals(ROWS, read(gone));

    stopLastNode();
    cluster.storeLosses();

    assertEquals(ROWS, read(command("kept")));
    assertLost("gone", gone);
    assertLost("safe", safe);
    assertEquals(rows("kept", kept), read(gone.clone().addAllPartitions(kept)));
    assertEquals(ROWS, read(gone.clone().setAcceptDataLoss(true).setNulls(Nulls.NULLS_KEEP)));
    // Ignite does not read the lost partitions of this one at all.
    assertEquals(rows("kept", kept), read(safe.clone().setAcceptDataLoss(true)));
    cluster.losses(0).accept("gone", "");
    assertEquals(ROWS, read(gone.clone().setNulls(Nulls.NULLS_KEEP)));
  }

  @Test
  public void lossesAreListedUntilSomebodyAcceptsThem() throws Exception {
    SystemCache.LOGS.open(cluster.node(0));
    load("none", 0, configuration -> {});
    // As the store's blocks without backups: the name is free, the group shows whose they are.
    load("own", 0, configuration -> configuration.setGroupName(SystemCache.PREFIX + "own"));
    List<Integer> ofUser = onlyOn("none", 2);
    List<Integer> lost = onlyOn("own", 2);

    stopLastNode();

    cluster.storeLosses();
    List<CacheLoss> losses = cluster.losses(1).list();
    assertEquals(2, losses.size());
    assertEquals("none", losses.get(0).getCache());
    assertEquals(ofUser, losses.get(0).getPartitionsList());
    assertFalse(losses.get(0).getIsOfService());
    assertEquals("own", losses.get(1).getCache());
    assertEquals(lost, losses.get(1).getPartitionsList());
    assertTrue(losses.get(1).hasLostAt());
    assertTrue(losses.get(1).getIsOfService());
    assertEquals(lost, List.copyOf(cluster.losses(0).accept("own", "")));
    losses = cluster.losses(1).list();
    assertEquals(1, losses.size());
    assertEquals("none", losses.get(0).getCache());
  }

  @Test
  public void aLossThatIgniteRemembersIsAcceptedForAllCachesOfTheGroup() throws Exception {
    for (String cache : List.of("first", "second")) {
      load(
          cache,
          0,
          configuration ->
              configuration
                  .setGroupName("group")
                  .setPartitionLossPolicy(PartitionLossPolicy.READ_WRITE_SAFE));
    }
    load("alone", 0, configuration -> {});
    stopLastNode();
    cluster.storeLosses();
    CacheLosses losses = cluster.losses(0);
    assertEquals(List.of("first", "second"), losses.acceptedWith("second"));
    assertEquals(List.of("alone"), losses.acceptedWith("alone"));
    assertFalse(losses.remembered("first").isEmpty());
    losses.accept("second", "");
    assertEquals(Set.of(), Set.copyOf(losses.remembered("first")));
    assertEquals(List.of("first"), losses.acceptedWith("first"));
  }

  @Test
  public void eachCacheOfANodesConfigurationLosesItsOwnPartitions() throws Exception {
    IgniteConfiguration configuration =
        new LoopbackNodes(1)
            .configuration("configured", work.getRoot().toPath())
            .setCacheConfiguration(
                new CacheConfiguration<>("one"), new CacheConfiguration<>("other"));
    try (Ignite node = Ignition.start(configuration)) {
      SystemCache.LOSSES.open(node);
      new LossTable(node)
          .add(
              CacheLoss.newBuilder()
                  .setCache("one")
                  .setDeploymentId(CacheDescriptor.of(node, "one").orElseThrow().deploymentId())
                  .addPartitions(7)
                  .build());
      CacheLosses losses = new CacheLosses(node);
      assertEquals(Set.of(7), losses.permanent("one"));
      assertEquals(Set.of(), losses.permanent("other"));
    }
  }

  /** The node that starts as the third. */
  private static final class LastNode implements IgnitePredicate<ClusterNode> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean apply(ClusterNode node) {
      String name = node.attribute(IgniteNodeAttributes.ATTR_IGNITE_INSTANCE_NAME);
      return name.endsWith("-2");
    }
  }

  private interface Change {
    void apply(CacheConfiguration<Object, Object> configuration);
  }

  private void load(String name, int backups, Change change) {
    CacheConfiguration<Object, Object> configuration =
        new CacheConfiguration<Object, Object>(name)
            .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS))
            .setBackups(backups);
    change.apply(configuration);
    Ignite ignite = cluster.node(0);
    ignite.createCache(configuration);
    for (int key = 0; key < ROWS; key++) {
      ignite.cache(name).put(key, key);
    }
  }

  /** A cache of which Ignite itself refuses lost partitions. */
  private void loadSafe() {
    load(
        "safe",
        0,
        configuration ->
            configuration
                // Then the columns are known without a row, for which Ignite refuses to look.
                .setIndexedTypes(Integer.class, Integer.class)
                .setPartitionLossPolicy(PartitionLossPolicy.READ_WRITE_SAFE));
  }

  /** Stops the node without moving its rows; returns when the others have new partition maps. */
  private void stopLastNode() throws Exception {
    cluster.stopLastNode();
    Await.until("the node has left", cluster::hasPartitionMaps);
  }

  private static ReadCommand.Builder command(String cache) {
    return ReadCommand.newBuilder().setCache(cache);
  }

  private int read(ReadCommand.Builder command) throws Exception {
    return cluster.readAll(command.build()).size();
  }

  private void assertLost(String cache) {
    assertLost(cache, command(cache));
  }

  private void assertLost(String cache, ReadCommand.Builder command) {
    FlightRuntimeException error = assertThrows(FlightRuntimeException.class, () -> read(command));
    assertTrue(error.getMessage(), error.getMessage().contains("[code=DATA_LOST]"));
    assertTrue(
        error.getMessage(), error.getMessage().contains("cache " + cache + " has lost partitions"));
  }

  /** The partitions whose copies are on no other nodes than these. */
  private List<Integer> onlyOn(String cache, int... nodes) {
    Collection<UUID> ids =
        IntStream.of(nodes)
            .mapToObj(node -> cluster.node(node).cluster().localNode().id())
            .collect(Collectors.toSet());
    Affinity<Object> affinity = cluster.node(0).affinity(cache);
    return IntStream.range(0, PARTITIONS)
        .filter(
            partition ->
                affinity.mapPartitionToPrimaryAndBackups(partition).stream()
                    .allMatch(node -> ids.contains(node.id())))
        .boxed()
        .collect(Collectors.toList());
  }

  private boolean owns(String cache, int node) {
    ClusterNode owner = cluster.node(node).cluster().localNode();
    return IntStream.range(0, cluster.size())
        .allMatch(from -> cluster.node(from).affinity(cache).primaryPartitions(owner).length > 0);
  }

  private static List<Integer> others(List<Integer> partitions) {
    List<Integer> others =
        IntStream.range(0, PARTITIONS).boxed().collect(Collectors.toCollection(ArrayList::new));
    others.removeAll(new TreeSet<>(partitions));
    return others;
  }

  /** The number of rows that were loaded into partitions. */
  private int rows(String cache, Collection<Integer> partitions) {
    Affinity<Object> affinity = cluster.node(0).affinity(cache);
    return (int)
        IntStream.range(0, ROWS)
            .filter(key -> partitions.contains(affinity.partition(key)))
            .count();
  }
}
