package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.tensorflowignite.Await;
import io.tensorflowignite.Full;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import io.tensorflowignite.v1.Replay;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import javax.cache.expiry.Duration;
import javax.cache.expiry.ModifiedExpiryPolicy;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionConcurrency;
import org.apache.ignite.transactions.TransactionIsolation;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/**
 * A reader that knows the rows of a position gets the present rows from what has changed.
 *
 * <p>Promise (rows): Partitions whose changes a node cannot know are read whole.
 */
public class ItChanges extends DataTest {
  private static final int PARTITIONS = 32;
  private static final int ROWS = 2_000;
  private static final int SAMPLE = 200;

  /** The longest wait of a command. */
  private static final int WAIT_MILLIS = 60_000;

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
  public void changesOfOtherKindsOfCachesAreReadAlone() throws Exception {
    changesAreReadAlone(transactional("transactional"), 1);
    changesAreReadAlone(
        new CacheConfiguration<>("replicated").setCacheMode(CacheMode.REPLICATED), 0);
    IgniteCache<Object, Object> other =
        create(transactional("other").setGroupName("pair"), PARTITIONS, 1);
    for (int key = 0; key < ROWS; key++) {
      other.put(key(key), row(key, 0));
    }
    changesAreReadAlone(transactional("grouped").setGroupName("pair"), 1);
  }

  private static CacheConfiguration<Object, Object> transactional(String name) {
    return new CacheConfiguration<>(name).setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL);
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
      boolean isTransactional =
          configuration.getAtomicityMode() == CacheAtomicityMode.TRANSACTIONAL;
      Set<Integer> changed = change(cache, random, round, isTransactional);
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
          cache.putAll(Map.of(key(key), row(key, round)));
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
        .withExpiryPolicy(new ModifiedExpiryPolicy(new Duration(TimeUnit.MILLISECONDS, 1)))
        .put(key(5), row(5, 1));
    Await.until("the row has expired", () -> cache.get(key(5)) == null);
    Set<Integer> readWhole = new HashSet<>();
    Await.until(
        "a reader knows that both are missing",
        () -> {
          boolean isKnown = knowsPresentRows(cache);
          readWhole.addAll(whole);
          return isKnown;
        });
    assertFalse(readWhole.isEmpty());
    cache.clear();
    cache.put(key(1), row(1, 1));
    Await.until("a reader knows that all others are missing", () -> knowsPresentRows(cache));
    assertEquals(1, known.size());
    for (int round = 2; round < 5; round++) {
      for (int key = 0; key < SAMPLE; key++) {
        cache.put(key(key), row(key, round));
      }
      Await.until("a reader knows the new rows", () -> knowsPresentRows(cache));
      cache.clear();
      cache.put(key(1), row(1, round));
      Await.until("a reader knows that they are missing", () -> knowsPresentRows(cache));
    }
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
      awaitFeeds("moving");
      assertReads(cache, -1, true);
      assertTrue(whole.toString(), whole.size() < PARTITIONS);
      assertReads(cache, 0, false);
    } finally {
      cluster.stopLastNode();
    }
    Await.until("the node has left", cluster::hasPartitionMaps);
    cache.put(key(2), row(2, 6));
    Set<Integer> moved = new HashSet<>();
    Await.until(
        "nothing is read whole any more",
        () -> {
          boolean isKnown = knowsPresentRows(cache);
          moved.addAll(whole);
          return isKnown && whole.isEmpty();
        });
    assertTrue(moved.toString(), !moved.isEmpty() && moved.size() < PARTITIONS);
    cache.put(key(2), row(2, 7));
    assertReads(cache, 1, false);
  }

  @Test
  public void aReadWaitsForTheFirstChange() throws Exception {
    IgniteCache<Object, Object> cache = filled("awaited");
    long begin = System.nanoTime();
    Map<Integer, PartitionPosition> before = new HashMap<>(positions);
    assertEquals(0, readFirst("awaited", 300));
    assertTrue(System.nanoTime() - begin >= TimeUnit.MILLISECONDS.toNanos(300));
    positions.putAll(before);
    FutureTask<Integer> found = new FutureTask<>(() -> readFirst("awaited", WAIT_MILLIS));
    new Thread(found).start();
    for (int key = 0; key < ROWS; key++) {
      cache.put(key(key), row(key, 9));
    }
    assertNotEquals(0, (int) found.get(WAIT_MILLIS - 5_000, TimeUnit.MILLISECONDS));
  }

  @Test
  public void rowsOfAConditionAreReadAgainOnlyIfSomethingHasChanged() throws Exception {
    sql("CREATE TABLE People (id INT PRIMARY KEY, age INT)");
    sql("INSERT INTO People VALUES (1, 10), (2, 20), (3, 30)");
    ReadCommand.Builder command = command("SQL_PUBLIC_PEOPLE").setWhere("age > 15");
    settle("SQL_PUBLIC_PEOPLE");
    assertEquals(2, readAll(command));
    assertEquals(0, readAll(command));
    sql("UPDATE People SET age = 5 WHERE id = 2");
    readAll(command);
    assertTrue(whole.contains(ignite.affinity("SQL_PUBLIC_PEOPLE").partition(2)));
    assertEquals(0, readAll(command));
  }

  @Test
  public void rowsHaveTheSameIdentityHoweverTheyAreRead() throws Exception {
    sql("CREATE TABLE Ages (id VARCHAR, place INT, age INT, PRIMARY KEY (id, place))");
    sql("CREATE TABLE Names (id VARBINARY PRIMARY KEY, age INT)");
    for (int i = 0; i < 100; i++) {
      sql("INSERT INTO Ages VALUES ('" + i + "', " + i % 7 + ", " + i + ")");
      sql(String.format("INSERT INTO Names VALUES (X'%04d', %d)", i, i));
    }
    for (String name : List.of("SQL_PUBLIC_AGES", "SQL_PUBLIC_NAMES")) {
      settle(name);
      Set<List<Object>> expected = identities(command(name).setPositions(true));
      assertEquals(100, expected.size());
      assertEquals(expected, identities(command(name).setIdentities(true)));
      assertEquals(expected, identities(command(name).setIdentities(true).setWhere("age >= 0")));
    }
  }

  /** The rows with their identities; each is of the partition that is read. */
  private Set<List<Object>> identities(ReadCommand.Builder command) throws Exception {
    Set<List<Object>> found = new HashSet<>();
    command.addColumns("AGE");
    for (FlightEndpoint endpoint : cluster.info(command.clone().build()).getEndpoints()) {
      for (int partition : partitions(endpoint)) {
        DataCluster.batches(
            cluster.client(endpoint.getLocations().get(0)),
            ticket(command.clone().addPartitions(partition)),
            root ->
                DataCluster.rows(root)
                    .forEach(
                        row -> {
                          assertEquals(partition, (Long) row.get(2) & 0xFFFF);
                          assertTrue(found.add(row));
                        }));
      }
    }
    return found;
  }

  @Test
  public void impossibleCommandsAreRefused() {
    create(new CacheConfiguration<>("bad"), PARTITIONS, 0).put(1L, row(1, 0));
    ReadCommand.Builder command =
        command("bad")
            .setPositions(true)
            .addPartitions(1)
            .addSince(PartitionPosition.newBuilder().setPartition(2));
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "partition 2", () -> cluster.info(command.build()));
    command.clearSince().setWaitMillis(WAIT_MILLIS + 1);
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "60001", () -> cluster.info(command.build()));
    command
        .clearWaitMillis()
        .clearPositions()
        .addSince(PartitionPosition.newBuilder().setPartition(1));
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST, "without positions", () -> cluster.info(command.build()));
    ReadCommand deletions = command("bad").setDeletions(true).build();
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "set nulls", () -> cluster.info(deletions));
  }

  @Test
  @Category(Full.class)
  public void aSampleRepeatsNoChangedRowWhoseKeyIsAnArray() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("arrays"), PARTITIONS, 1);
    List<Long> ids = ids(0, SAMPLE);
    ids.forEach(id -> cache.put(bytes(id), object("Row", "label", id)));
    settle("arrays");
    assertEquals(SAMPLE, readAll(command("arrays")));
    for (int times = 0; times < 2; times++) {
      ids(0, SAMPLE / 2).forEach(id -> cache.put(bytes(id), object("Row", "label", id)));
    }
    readAll(command("arrays").setReplay(Replay.newBuilder().setShare(0.9)));
    assertEquals(ids, labels());
  }

  @Test
  @Category(Full.class)
  public void removedRowsBringNoSampleOfOthers() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("removed"), PARTITIONS, 1);
    ids(0, ROWS).forEach(id -> cache.put(id, object("Row", "label", id)));
    settle("removed");
    assertEquals(ROWS, readAll(command("removed")));
    ids(0, ROWS / 4).forEach(cache::remove);
    Map<Integer, PartitionPosition> before = new TreeMap<>(positions);
    ReadCommand.Builder half = command("removed").setReplay(Replay.newBuilder().setShare(0.5));
    assertEquals(0, readAll(half));

    List<Long> changed = ids(ROWS, ROWS + SAMPLE);
    changed.forEach(id -> cache.put(id, object("Row", "label", id)));
    positions.putAll(before);
    assertEquals(2.0 * SAMPLE, readAll(half), SAMPLE / 3.0);
    assertTrue(labels().containsAll(changed));
  }

  private static List<Long> ids(long begin, long end) {
    return LongStream.range(begin, end).boxed().collect(Collectors.toList());
  }

  private static byte[] bytes(long id) {
    return ByteBuffer.allocate(Long.BYTES).putLong(id).array();
  }

  private List<Object> labels() {
    return labels(rows.stream().map(row -> row.get(0)).collect(Collectors.toList()));
  }

  private IgniteCache<Object, Object> filled(String name) throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>(name), PARTITIONS, 1);
    for (int key = 0; key < ROWS; key++) {
      cache.put(key(key), row(key, 0));
    }
    settle(name);
    assertReads(cache, ROWS, true);
    return cache.withKeepBinary();
  }

  /** Begins the feeds of a cache that the reader does not know yet. */
  private void settle(String name) throws Exception {
    awaitFeeds(name);
    known.clear();
    positions.clear();
  }

  /** Begins the feeds, and waits until all nodes have positions, which come without rows. */
  private static void awaitFeeds(String name) throws Exception {
    for (FlightEndpoint endpoint : cluster.info(command(name).build()).getEndpoints()) {
      ReadResult result =
          DataCluster.batches(
              cluster.client(endpoint.getLocations().get(0)),
              ticket(
                  command(name)
                      .setPositions(true)
                      .setPositionsOnly(true)
                      .setWaitMillis(WAIT_MILLIS)
                      .addAllPartitions(partitions(endpoint))),
              rows -> fail("these rows were not requested"));
      assertEquals(partitions(endpoint).size(), result.getPositionsCount());
      assertTrue(result.getPositionsList().stream().allMatch(each -> each.getFeed() != 0));
    }
  }

  /**
   * @param rows the rows that are read; below 0: any number
   */
  private void assertReads(IgniteCache<Object, Object> cache, int rows, boolean someWhole)
      throws Exception {
    read(cache.getName());
    assertEquals(labels(cache), labels(known.values()));
    if (rows >= 0) {
      assertEquals(rows, rowsRead);
    }
    assertEquals(whole.toString(), someWhole, !whole.isEmpty());
  }

  /** Reads once, if no partition moves meanwhile. */
  private boolean knowsPresentRows(IgniteCache<Object, Object> cache) {
    try {
      read(cache.getName());
    } catch (FlightRuntimeException moved) {
      assertEquals(moved.getMessage(), FlightStatusCode.UNAVAILABLE, moved.status().code());
      return false;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    return labels(cache).equals(labels(known.values()));
  }

  private static List<Object> labels(IgniteCache<Object, Object> cache) {
    List<Object> labels = new ArrayList<>();
    cache
        .<Object, Object>withKeepBinary()
        .forEach(entry -> labels.add(((BinaryObject) entry.getValue()).field("label")));
    return labels(labels);
  }

  private static List<Object> labels(Collection<Object> labels) {
    return labels.stream().sorted().collect(Collectors.toList());
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
