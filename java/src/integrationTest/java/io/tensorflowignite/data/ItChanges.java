package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.Full;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.cache.expiry.CreatedExpiryPolicy;
import javax.cache.expiry.Duration;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionConcurrency;
import org.apache.ignite.transactions.TransactionIsolation;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/** A reader that knows the rows of a position gets the present rows from what has changed. */
public class ItChanges extends DataTest {
  private static final int PARTITIONS = 32;
  private static final int ROWS = 2_000;

  /** Longer than the time after which the feeds of all nodes have positions. */
  private static final long SETTLED_MILLIS = 2_500;

  /** The rows that a reader knows: by identity, with the value of "label". */
  private final Map<List<Long>, Object> known = new HashMap<>();

  private final Map<Integer, PartitionPosition> positions = new TreeMap<>();
  private final Set<Integer> whole = new HashSet<>();
  private final List<List<Object>> rows = new ArrayList<>();
  private int rowsRead;

  @Test
  public void changesOfAnAtomicCacheAreReadAlone() throws Exception {
    changesAreReadAlone(new CacheConfiguration<>("atomic"), 1);
  }

  @Test
  @Category(Full.class)
  public void changesOfATransactionalCacheAreReadAlone() throws Exception {
    CacheConfiguration<Object, Object> configuration = new CacheConfiguration<>("transactional");
    changesAreReadAlone(configuration.setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL), 1);
  }

  @Test
  @Category(Full.class)
  public void changesOfAReplicatedCacheAreReadAlone() throws Exception {
    CacheConfiguration<Object, Object> configuration = new CacheConfiguration<>("replicated");
    changesAreReadAlone(configuration.setCacheMode(CacheMode.REPLICATED), 0);
  }

  @Test
  @Category(Full.class)
  public void changesOfACacheInAGroupAreReadAlone() throws Exception {
    ignite.createCache(new CacheConfiguration<>("other").setGroupName("group"));
    CacheConfiguration<Object, Object> configuration = new CacheConfiguration<>("grouped");
    changesAreReadAlone(
        configuration.setGroupName("pair").setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL), 1);
  }

  private void changesAreReadAlone(CacheConfiguration<Object, Object> configuration, int backups)
      throws Exception {
    IgniteCache<Object, Object> cache = create(configuration, PARTITIONS, backups);
    for (int key = 0; key < ROWS; key++) {
      cache.put(key(key), row(key, 0));
    }
    settle(cache.getName());
    assertReads(cache, ROWS, true);
    assertReads(cache, 0, false);

    Random random = new Random(7);
    for (int round = 1; round <= 5; round++) {
      Set<Integer> changed =
          change(
              cache,
              random,
              round,
              configuration.getAtomicityMode() == CacheAtomicityMode.TRANSACTIONAL);
      assertReads(cache, -1, false);
      assertTrue(rowsRead + " of " + changed.size(), rowsRead <= changed.size());
    }
    // What changed before is not read again.
    assertReads(cache, 0, false);
  }

  private static Set<Integer> change(
      IgniteCache<Object, Object> cache, Random random, int round, boolean isTransactional) {
    Set<Integer> changed = new HashSet<>();
    for (int i = 0; i < 40; i++) {
      int key = random.nextInt(ROWS + 200);
      changed.add(key);
      switch (random.nextInt(4)) {
        case 0:
          cache.remove(key(key));
          break;
        case 1:
          Map<Object, Object> some = Map.of(key(key), row(key, round));
          cache.putAll(some);
          break;
        default:
          cache.put(key(key), row(key, round));
          cache.put(key(key), row(key, round + 100));
      }
    }
    if (isTransactional) {
      try (Transaction transaction =
          ignite
              .transactions()
              .txStart(TransactionConcurrency.PESSIMISTIC, TransactionIsolation.REPEATABLE_READ)) {
        for (int key = 0; key < 20; key++) {
          changed.add(key);
          cache.put(key(key), row(key, 1_000 + round));
        }
        transaction.commit();
      }
    }
    return changed;
  }

  @Test
  @Category(Full.class)
  public void rowsOfAStreamerAreNoticed() throws Exception {
    for (boolean overwrites : new boolean[] {true, false}) {
      IgniteCache<Object, Object> cache = filled("streamed-" + overwrites);
      try (IgniteDataStreamer<Object, Object> streamer = ignite.dataStreamer(cache.getName())) {
        streamer.allowOverwrite(overwrites);
        streamer.keepBinary(true);
        for (int key = ROWS; key < ROWS + 300; key++) {
          streamer.addData(key(key), row(key, 1));
        }
      }
      assertReads(cache, 300, false);
    }
  }

  @Test
  @Category(Full.class)
  public void clearedAndExpiredRowsAreMissed() throws Exception {
    IgniteCache<Object, Object> cache = filled("cleared");
    cache.clear(key(3));
    cache
        .withExpiryPolicy(new CreatedExpiryPolicy(new Duration(TimeUnit.SECONDS, 5)))
        .put(key(ROWS + 1), row(0, 1));
    assertEquals(row(0, 1), cache.get(key(ROWS + 1)));
    Await.until("the row has expired", () -> cache.get(key(ROWS + 1)) == null);
    Thread.sleep(300);
    assertReads(cache, -1, true);
    cache.clear();
    cache.put(key(1), row(1, 1));
    Thread.sleep(300);
    assertReads(cache, 1, true);
    assertEquals(1, known.size());
  }

  @Test
  @Category(Full.class)
  public void partitionsThatMoveAreReadWholeAndOthersAreNot() throws Exception {
    IgniteCache<Object, Object> cache = filled("moving");
    cluster.addNode();
    try {
      Await.until(
          "the new node owns partitions",
          () ->
              cluster.hasPartitionMaps()
                  && ignite
                          .affinity("moving")
                          .primaryPartitions(cluster.node(3).cluster().localNode())
                          .length
                      > 0);
      cache.put(key(1), row(1, 5));
      // The feed of the new node begins with this read.
      read("moving");
      Thread.sleep(SETTLED_MILLIS);
      assertReads(cache, -1, true);
      assertTrue(whole.toString(), whole.size() < PARTITIONS);
      assertReads(cache, 0, false);
    } finally {
      cluster.stopLastNode();
    }
    cache.put(key(2), row(2, 6));
    Thread.sleep(500);
    assertReads(cache, -1, true);
    assertTrue(whole.toString(), whole.size() < PARTITIONS);
    cache.put(key(2), row(2, 7));
    assertReads(cache, 1, false);
  }

  @Test
  @Category(Full.class)
  public void aCacheThatIsCreatedAgainHasNoOldPositions() throws Exception {
    filled("again");
    ignite.destroyCache("again");
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("again"), PARTITIONS, 1);
    cache.put(key(7), row(7, 7));
    read("again");
    assertEquals(PARTITIONS, whole.size());
    assertEquals(1, known.size());
  }

  @Test
  public void aReadWaitsForTheFirstChange() throws Exception {
    IgniteCache<Object, Object> cache = filled("awaited");
    long begin = System.nanoTime();
    Map<Integer, PartitionPosition> before = new HashMap<>(positions);
    int found = readFirst("awaited", 300);
    assertEquals(0, found);
    assertTrue(System.nanoTime() - begin >= TimeUnit.MILLISECONDS.toNanos(300));
    positions.putAll(before);
    Thread writer =
        new Thread(
            () -> {
              for (int key = 0; key < ROWS; key++) {
                cache.put(key(key), row(key, 9));
              }
            });
    writer.start();
    begin = System.nanoTime();
    assertNotEquals(0, readFirst("awaited", 60_000));
    assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(55));
    writer.join();
  }

  @Test
  @Category(Full.class)
  public void positionsAreToldWithoutRows() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("told"), PARTITIONS, 1);
    for (long key = 0; key < ROWS; key++) {
      cache.put(key, row((int) key, 0));
    }
    assertEquals(0, readAll(command("told").setPositionsOnly(true).setWaitMillis(10_000)));
    assertTrue(whole.isEmpty());
    assertEquals(PARTITIONS, positions.size());
    assertTrue(positions.values().stream().noneMatch(position -> position.getFeed() == 0));
    assertEquals(0, readAll(command("told")));
    cache.put(5L, row(5, 1));
    assertEquals(1, readAll(command("told")));
    assertTrue(whole.isEmpty());
  }

  @Test
  public void removedRowsComeWithTheirKeysIfTheyAreRequested() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("deleted"), PARTITIONS, 1);
    for (long key = 0; key < 100; key++) {
      cache.put(key, row((int) key, 0));
    }
    settle("deleted");
    ReadCommand.Builder command =
        command("deleted").setKey(true).setNulls(Nulls.NULLS_DEFAULT).setDeletions(true);
    assertEquals(100, readAll(command));
    assertTrue(rows.stream().allMatch(row -> row.get(2).equals(false)));
    cache.remove(3L);
    cache.put(4L, row(4, 1));
    assertEquals(2, readAll(command));
    assertTrue(rows.toString(), rows.contains(List.of(3L, 0L, true)));
    assertTrue(rows.toString(), rows.contains(List.of(4L, 40_001L, false)));
    cache.put(3L, row(3, 2));
    cache.remove(4L);
    cache.put(4L, row(4, 2));
    assertEquals(2, readAll(command.setNulls(Nulls.NULLS_KEEP)));
    assertTrue(rows.stream().allMatch(row -> row.get(2).equals(false)));
  }

  @Test
  public void deletionsAreRefusedWhereTheyAreNotKnown() {
    create(new CacheConfiguration<>("strict"), PARTITIONS, 0).put(1L, row(1, 0));
    ReadCommand.Builder command = command("strict").setDeletions(true);
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "set nulls", () -> cluster.info(command.build()));
  }

  @Test
  public void rowsOfAConditionAreReadAgainOnlyIfSomethingHasChanged() throws Exception {
    ignite
        .getOrCreateCache("sql")
        .query(
            new SqlFieldsQuery("CREATE TABLE IF NOT EXISTS People (id INT PRIMARY KEY, age INT)"))
        .getAll();
    IgniteCache<Object, Object> cache = ignite.cache("SQL_PUBLIC_PEOPLE");
    query(cache, "INSERT INTO People VALUES (1, 10), (2, 20), (3, 30)");
    ReadCommand.Builder command = command("SQL_PUBLIC_PEOPLE").setWhere("age > 15");
    assertEquals(2, readAll(command));
    Thread.sleep(SETTLED_MILLIS);
    assertEquals(2, readAll(command));
    assertEquals(0, readAll(command));
    query(cache, "UPDATE People SET age = 5 WHERE id = 2");
    readAll(command);
    int partition = ignite.affinity("SQL_PUBLIC_PEOPLE").partition(2);
    assertTrue(whole.contains(partition));
    assertEquals(0, readAll(command));
  }

  @Test
  public void aPositionOfAnotherPartitionIsRefused() {
    create(new CacheConfiguration<>("bad"), PARTITIONS, 0);
    ReadCommand.Builder command =
        command("bad")
            .setPositions(true)
            .addPartitions(1)
            .addSince(PartitionPosition.newBuilder().setPartition(2));
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "partition 2", () -> cluster.info(command.build()));
    command.clearSince().setWaitMillis(60_001);
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "60001", () -> cluster.info(command.build()));
    command
        .clearWaitMillis()
        .clearPositions()
        .addSince(PartitionPosition.newBuilder().setPartition(1));
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST, "without positions", () -> cluster.info(command.build()));
  }

  private static void query(IgniteCache<Object, Object> cache, String sql) {
    cache.query(new SqlFieldsQuery(sql)).getAll();
  }

  private IgniteCache<Object, Object> filled(String name) throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>(name), PARTITIONS, 1);
    for (int key = 0; key < ROWS; key++) {
      cache.put(key(key), row(key, 0));
    }
    settle(name);
    known.clear();
    positions.clear();
    assertReads(cache, ROWS, true);
    return cache.withKeepBinary();
  }

  /** Begins the feeds, and waits until they have positions. */
  private void settle(String name) throws Exception {
    read(name);
    Thread.sleep(SETTLED_MILLIS);
    known.clear();
    positions.clear();
  }

  /**
   * @param rows the rows that are read; below 0: any number
   */
  private void assertReads(IgniteCache<Object, Object> cache, int rows, boolean someWhole)
      throws Exception {
    read(cache.getName());
    Map<Object, Integer> expected = new HashMap<>();
    cache
        .<Object, Object>withKeepBinary()
        .forEach(
            entry ->
                expected.merge(((BinaryObject) entry.getValue()).field("label"), 1, Integer::sum));
    Map<Object, Integer> found = new HashMap<>();
    known.values().forEach(value -> found.merge(value, 1, Integer::sum));
    assertEquals(expected, found);
    if (rows >= 0) {
      assertEquals(rows, rowsRead);
    }
    assertEquals(whole.toString(), someWhole, !whole.isEmpty());
  }

  private void read(String name) throws Exception {
    rowsRead = 0;
    whole.clear();
    for (FlightEndpoint endpoint : cluster.info(command(name).build()).getEndpoints()) {
      read(endpoint, since(command(name).addColumns("label"), endpoint));
    }
  }

  /** The rows that one node sends after a wait. */
  private int readFirst(String name, int waitMillis) throws Exception {
    rowsRead = 0;
    FlightEndpoint endpoint = cluster.info(command(name).build()).getEndpoints().get(0);
    read(endpoint, since(command(name).addColumns("label"), endpoint).setWaitMillis(waitMillis));
    return rowsRead;
  }

  private int readAll(ReadCommand.Builder command) throws Exception {
    rowsRead = 0;
    rows.clear();
    whole.clear();
    for (FlightEndpoint endpoint : cluster.info(command.clone().build()).getEndpoints()) {
      ReadResult result =
          DataCluster.batches(
              cluster.client(endpoint.getLocations().get(0)),
              ticket(since(command.clone(), endpoint)),
              root -> DataCluster.rows(root).forEach(row -> rows.add(withoutIdentity(row))));
      rowsRead = rows.size();
      take(result);
    }
    return rowsRead;
  }

  private ReadCommand.Builder since(ReadCommand.Builder command, FlightEndpoint endpoint) {
    command.setPositions(true);
    for (int partition : partitions(endpoint)) {
      command.addPartitions(partition);
      if (positions.containsKey(partition)) {
        command.addSince(positions.get(partition));
      }
    }
    return command;
  }

  private void read(FlightEndpoint endpoint, ReadCommand.Builder command) throws Exception {
    Map<List<Long>, Object> put = new HashMap<>();
    ReadResult result =
        DataCluster.batches(
            cluster.client(endpoint.getLocations().get(0)),
            ticket(command),
            root -> {
              for (List<Object> row : DataCluster.rows(root)) {
                assertFalse(put.containsKey(List.of((Long) row.get(1), (Long) row.get(2))));
                put.put(List.of((Long) row.get(1), (Long) row.get(2)), row.get(0));
              }
            });
    rowsRead += put.size();
    known.keySet().removeIf(identity -> result.getWholeList().contains(partition(identity)));
    ByteBuffer removed = result.getRemoved().asReadOnlyByteBuffer();
    while (removed.hasRemaining()) {
      known.remove(List.of(removed.getLong(), removed.getLong()));
    }
    known.putAll(put);
    take(result);
  }

  private static List<Object> withoutIdentity(List<Object> row) {
    return row.subList(0, Math.min(row.size(), 3));
  }

  private void take(ReadResult result) {
    whole.addAll(result.getWholeList());
    result.getPositionsList().forEach(position -> positions.put(position.getPartition(), position));
  }

  private static int partition(List<Long> identity) {
    return (int) (identity.get(1) & 0xFFFF);
  }

  /** Keys of several types. */
  private static Object key(int number) {
    switch (number % 4) {
      case 0:
        return number;
      case 1:
        return "key " + number;
      case 2:
        return (long) number;
      default:
        return object("Key", "number", number);
    }
  }

  private static Object row(int key, int version) {
    return object("Row", "label", (long) key * 10_000 + version);
  }
}
