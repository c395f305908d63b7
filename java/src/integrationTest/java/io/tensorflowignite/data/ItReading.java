package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadLimit;
import io.tensorflowignite.v1.ReadResult;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/** A read gives every row of a cache once, from its owner. */
public class ItReading extends DataTest {
  @Test
  public void everyRowComesOnceOverItsPrimaries() throws Exception {
    assertRowsOnceOverOwners(new CacheConfiguration<>("digits"), 64, 1, 1000);
    assertRowsOnceOverOwners(
        new CacheConfiguration<>("everywhere").setCacheMode(CacheMode.REPLICATED), 32, 0, 500);
    // Most partitions have no row.
    assertRowsOnceOverOwners(new CacheConfiguration<>("sparse"), 1024, 1, 5);
  }

  private static void assertRowsOnceOverOwners(
      CacheConfiguration<Object, Object> configuration, int partitions, int backups, int rows)
      throws Exception {
    fillObjects(create(configuration, partitions, backups), "Digit", rows);
    ReadCommand command = command(configuration.getName()).setKey(true).build();

    FlightInfo info = cluster.info(command);

    assertEquals(rows, info.getRecords());
    assertEquals(3, info.getEndpoints().size());
    assertEquals(
        IntStream.range(0, partitions).boxed().collect(Collectors.toList()),
        sorted(partitions(info)));
    assertRowsOnce(rows, cluster.readAll(command));
  }

  @Test
  public void onlyNamedPartitionsAreCountedAndRead() throws Exception {
    fillObjects(create(new CacheConfiguration<>("some"), 16, 0), "Some", 400);
    List<Integer> named = List.of(3, 1, 12);
    long expected = named.stream().mapToLong(ItReading::rowsOf).sum();

    ReadCommand command = command("some").addAllPartitions(named).setKey(true).build();
    FlightInfo info = cluster.info(command);

    assertEquals(expected, info.getRecords());
    assertEquals(List.of(1, 3, 12), sorted(partitions(info)));
    Set<Object> keys = column(cluster.readAll(command), 0);
    assertEquals(expected, keys.size());
    for (Object key : keys) {
      assertTrue(named.contains(ignite.affinity("some").partition(key)));
    }
  }

  @Test
  public void aTicketsRowsComeInTheOrderOfItsPartitions() throws Exception {
    fillObjects(create(new CacheConfiguration<>("ordered"), 16, 0), "Ordered", 400);
    FlightEndpoint endpoint = cluster.info(command("ordered").build()).getEndpoints().get(0);
    List<Integer> reversed = new ArrayList<>(partitions(endpoint));
    Collections.reverse(reversed);

    List<List<Object>> rows =
        DataCluster.read(
            cluster.client(endpoint.getLocations().get(0)),
            ticket(command("ordered").setKey(true).addAllPartitions(reversed)));

    List<Integer> order =
        rows.stream()
            .map(row -> ignite.affinity("ordered").partition(row.get(0)))
            .distinct()
            .collect(Collectors.toList());
    assertEquals(reversed, order);
  }

  @Test
  public void batchesEndAtTheRequestedRowsAndBytesAndSpanPartitions() throws Exception {
    fillObjects(create(new CacheConfiguration<>("cut"), 64, 0), "Cut", 1000);
    FlightEndpoint endpoint =
        cluster.info(command("cut").setBatchRows(50).build()).getEndpoints().get(0);
    List<Integer> sizes = new ArrayList<>();

    cluster.batches(endpoint, root -> sizes.add(root.getRowCount()));

    assertTrue(sizes.size() > 1);
    assertTrue(sizes.subList(0, sizes.size() - 1).stream().allMatch(size -> size == 50));

    FlightEndpoint byBytes =
        cluster
            .info(command("cut").setBatchBytes(64 * 10).addColumns("pixels").build())
            .getEndpoints()
            .get(0);
    cluster.batches(byBytes, root -> assertTrue(root.getRowCount() <= 10));
  }

  @Test
  public void aStreamKeepsTheRateOfItsCommandAndBringsEveryRow() throws Exception {
    fillObjects(create(new CacheConfiguration<>("slow"), 1, 0), "Slow", 100);
    ReadLimit limit = ReadLimit.newBuilder().setRowsPerSecond(200).setGroup("test").build();
    long begin = System.nanoTime();

    assertRowsOnce(
        100,
        cluster.readAll(command("slow").setKey(true).setBatchRows(10).setReadRate(limit).build()));

    // The last of ten batches begins when the nine before have taken their time.
    long least = TimeUnit.MILLISECONDS.toNanos(450);
    assertTrue(System.nanoTime() - begin >= least);
  }

  @Test
  public void aClientThatKnowsOnlyFlightFindsACacheByItsPathAndGetsNullsAsNulls() throws Exception {
    create(new CacheConfiguration<>("holes"), 1, 0).put(1, object("Hole", "a", 1, "b", "text"));
    ignite.cache("holes").put(2, object("Hole", "a", 2));
    FlightDescriptor path = FlightDescriptor.path("holes");

    FlightInfo info = cluster.client(0).getInfo(path);

    assertEquals(2, info.getRecords());
    assertEquals(2, cluster.client(0).getSchema(path).getSchema().getFields().size());
    try (FlightStream rows = cluster.stream(info.getEndpoints().get(0))) {
      assertTrue(rows.next());
      assertEquals(2, rows.getRoot().getRowCount());
      assertEquals(1, rows.getRoot().getVector("b").getNullCount());
    }
  }

  @Test
  public void aStreamThatIsCancelledHalfwayLeavesNoBuffer() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("large"), 4, 0);
    for (int i = 0; i < 64; i++) {
      cache.put(i, new byte[1 << 20]);
    }
    FlightEndpoint endpoint =
        cluster.info(command("large").setBatchBytes(1 << 20).build()).getEndpoints().get(0);
    try (FlightStream stream = cluster.stream(endpoint)) {
      assertTrue(stream.next());
      stream.cancel("enough", null);
    }
    cluster.awaitIdle();
  }

  @Test
  public void partitionsThatMoveDuringAStreamAreNamedToAReaderThatFollowsAndAnErrorToOthers()
      throws Exception {
    // Without backups, so that a leaving node causes no rebalancing: Ignite 2.17 halts a node if a
    // cache is destroyed during its rebalancing.
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("moving"), 256, 0);
    for (int i = 0; i < 96; i++) {
      cache.put(i, new byte[1 << 20]);
    }
    ReadCommand command = command("moving").setKey(true).setBatchBytes(1 << 20).build();
    FlightEndpoint endpoint = cluster.info(command).getEndpoints().get(0);
    FlightClient client = cluster.client(endpoint.getLocations().get(0));
    Set<Object> expected = keysOf(partitions(endpoint));
    List<Object> keys = new ArrayList<>();
    ReadResult result;
    try (FlightStream stream = client.getStream(endpoint.getTicket())) {
      assertTrue(stream.next());
      result =
          DataCluster.batches(
              client,
              following(endpoint),
              batch -> {
                if (keys.isEmpty()) {
                  moveSomeOf("moving", partitions(endpoint));
                }
                addKeys(batch, keys);
              });

      assertFails(
          FlightStatusCode.UNAVAILABLE,
          "of cache moving is not primary on node",
          "[code=PARTITION_NOT_LOCAL]",
          () -> {
            while (stream.next()) {
              assertTrue(stream.getRoot().getRowCount() > 0);
            }
          });
      assertFalse(result.getMovedList().isEmpty());
      assertTrue(partitions(endpoint).containsAll(result.getMovedList()));
      ReadCommand rest = command.toBuilder().addAllPartitions(result.getMovedList()).build();
      for (FlightEndpoint owner : cluster.info(rest).getEndpoints()) {
        cluster.batches(owner, batch -> addKeys(batch, keys));
      }
    } finally {
      cluster.stopLastNode();
    }
    assertEquals(expected.size(), keys.size());
    assertEquals(expected, Set.copyOf(keys));
  }

  private static void addKeys(VectorSchemaRoot batch, List<Object> keys) {
    for (int row = 0; row < batch.getRowCount(); row++) {
      keys.add(batch.getVector("_key").getObject(row));
    }
  }

  private static Set<Object> keysOf(List<Integer> partitions) {
    return IntStream.range(0, 96)
        .filter(key -> partitions.contains(ignite.affinity("moving").partition(key)))
        .boxed()
        .collect(Collectors.toSet());
  }

  private static void assertRowsOnce(int count, List<List<Object>> rows) {
    assertEquals(count, rows.size());
    assertEquals(IntStream.range(0, count).boxed().collect(Collectors.toSet()), column(rows, 0));
    for (List<Object> row : rows) {
      byte[] pixels = new byte[64];
      Arrays.fill(pixels, ((Integer) row.get(0)).byteValue());
      assertTrue(row.toString(), row.contains(Arrays.toString(pixels)));
      assertTrue(row.toString(), row.contains("row " + row.get(0)));
    }
  }

  private static Set<Object> column(List<List<Object>> rows, int index) {
    return rows.stream().map(row -> row.get(index)).collect(Collectors.toSet());
  }

  private static long rowsOf(int partition) {
    return IntStream.range(0, 400)
        .filter(key -> ignite.affinity("some").partition(key) == partition)
        .count();
  }

  private static List<Integer> sorted(List<Integer> values) {
    return values.stream().sorted().collect(Collectors.toList());
  }

  private static List<Integer> partitions(FlightInfo info) {
    return info.getEndpoints().stream()
        .flatMap(endpoint -> partitions(endpoint).stream())
        .collect(Collectors.toList());
  }
}
