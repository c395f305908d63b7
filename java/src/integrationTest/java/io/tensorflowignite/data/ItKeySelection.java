package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Full;
import io.tensorflowignite.v1.KeyRange;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import io.tensorflowignite.v1.Replay;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/**
 * Rows are chosen on their node by hashes of their keys: of all rows, and of those that changed.
 */
@Category(Full.class)
public class ItKeySelection extends DataTest {
  private static final int PARTITIONS = 16;
  private static final int ROWS = 4_000;
  private static final int NEW_ROWS = 200;
  private static final long HASHES = 1L << 32;
  private static final KeyRange HELD_OUT = range(0, HASHES / 10);
  private static final KeyRange OTHERS = range(HASHES / 10, HASHES);

  private final Map<Integer, PartitionPosition> positions = new TreeMap<>();

  @Test
  public void rangesOfKeysSplitTheRowsOfACacheAlsoAfterTheyHaveChanged() throws Exception {
    IgniteCache<Object, Object> cache = filled("split");
    List<Long> heldOut = ids(command("split").setKeys(HELD_OUT));
    List<Long> others = ids(command("split").setKeys(OTHERS));
    assertEquals(ROWS / 10.0, heldOut.size(), ROWS / 50.0);
    List<Long> all = new ArrayList<>(heldOut);
    all.addAll(others);
    all.sort(null);
    assertEquals(ids(0, ROWS), all);

    settle("split");
    for (long key = 0; key < ROWS; key += 20) {
      cache.put(key, object("Row", "label", key));
    }
    Map<Integer, PartitionPosition> before = new TreeMap<>(positions);
    assertEquals(multiples(heldOut), changes(command("split").setKeys(HELD_OUT)));
    positions.putAll(before);
    assertEquals(multiples(others), changes(command("split").setKeys(OTHERS)));
  }

  @Test
  public void aSampleOfOtherRowsComesWithThoseThatHaveChangedAndNoneTwice() throws Exception {
    IgniteCache<Object, Object> cache = filled("replayed");
    settle("replayed");
    assertEquals(List.of(), changes(command("replayed").setReplay(replay(0.5, 0))));
    List<Long> changed = ids(ROWS, ROWS + NEW_ROWS);
    changed.forEach(key -> cache.put(key, object("Row", "label", key)));
    Map<Integer, PartitionPosition> before = new TreeMap<>(positions);

    List<List<Long>> samples = new ArrayList<>();
    for (int begin : new int[] {0, 1 << 30}) {
      positions.putAll(before);
      List<Long> read = changes(command("replayed").setReplay(replay(0.5, begin)));
      assertEquals(read.size(), read.stream().distinct().count());
      assertTrue(read.containsAll(changed));
      samples.add(read.stream().filter(key -> !changed.contains(key)).collect(Collectors.toList()));
      assertEquals(NEW_ROWS, samples.get(samples.size() - 1).size(), NEW_ROWS / 3.0);
    }
    assertTrue(samples.get(0).stream().noneMatch(samples.get(1)::contains));

    positions.putAll(before);
    List<Long> heldOut = changes(command("replayed").setReplay(replay(0.9, 0)).setKeys(HELD_OUT));
    List<Long> allHeldOut = ids(command("replayed").setKeys(HELD_OUT));
    assertTrue(allHeldOut.containsAll(heldOut));
    // Without positions there is no sample: every row comes.
    positions.clear();
    assertEquals(ids(0, ROWS + NEW_ROWS), changes(command("replayed").setReplay(replay(0.5, 0))));
  }

  @Test
  public void aSampleRepeatsNoChangedRowWhoseKeyIsAnArray() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("arrays"), PARTITIONS, 1);
    ids(0, NEW_ROWS).forEach(id -> cache.put(bytes(id), object("Row", "label", id)));
    settle("arrays");
    for (int times = 0; times < 2; times++) {
      ids(0, NEW_ROWS / 2).forEach(id -> cache.put(bytes(id), object("Row", "label", id)));
    }
    List<Long> read = changes(command("arrays").setReplay(replay(0.9, 0)));
    assertEquals(ids(0, NEW_ROWS), read);
  }

  @Test
  public void removedRowsBringNoSampleOfOthers() throws Exception {
    IgniteCache<Object, Object> cache = filled("removed");
    settle("removed");
    ids(0, ROWS / 4).forEach(cache::remove);
    Map<Integer, PartitionPosition> before = new TreeMap<>(positions);
    assertEquals(List.of(), changes(command("removed").setReplay(replay(0.5, 0))));

    List<Long> changed = ids(ROWS, ROWS + NEW_ROWS);
    changed.forEach(key -> cache.put(key, object("Row", "label", key)));
    positions.putAll(before);
    List<Long> read = changes(command("removed").setReplay(replay(0.5, 0)));
    assertTrue(read.containsAll(changed));
    assertEquals(2.0 * NEW_ROWS, read.size(), NEW_ROWS / 3.0);
  }

  @Test
  public void rowsOfASelectCannotBeChosenByTheirKeys() {
    create(new CacheConfiguration<>("unsuitable"), PARTITIONS, 0)
        .put(1L, object("Row", "label", 1L));
    ReadCommand.Builder command = command("unsuitable").setKeys(range(5, 5));
    assertInvalid(ERROR_CODE_INVALID_REQUEST, "from 5 to 5", () -> cluster.info(command.build()));
  }

  private static IgniteCache<Object, Object> filled(String name) {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>(name), PARTITIONS, 1);
    ids(0, ROWS).forEach(key -> cache.put(key, object("Row", "label", key)));
    return cache;
  }

  private static List<Long> ids(long begin, long end) {
    List<Long> ids = new ArrayList<>();
    for (long id = begin; id < end; id++) {
      ids.add(id);
    }
    return ids;
  }

  private static byte[] bytes(long id) {
    return ByteBuffer.allocate(Long.BYTES).putLong(id).array();
  }

  private static List<Long> multiples(List<Long> keys) {
    return keys.stream().filter(key -> key % 20 == 0).sorted().collect(Collectors.toList());
  }

  /** Takes positions from which all nodes know all changes. */
  private void settle(String name) throws Exception {
    changes(command(name).setPositionsOnly(true).setWaitMillis(10_000));
  }

  private List<Long> ids(ReadCommand.Builder command) throws Exception {
    return read(command.setPositions(false), false);
  }

  private List<Long> changes(ReadCommand.Builder command) throws Exception {
    return read(command.setPositions(true), true);
  }

  private List<Long> read(ReadCommand.Builder command, boolean isSince) throws Exception {
    List<Long> ids = new ArrayList<>();
    for (FlightEndpoint endpoint : cluster.info(command.clone().build()).getEndpoints()) {
      ReadCommand.Builder part = command.clone();
      for (int partition : partitions(endpoint)) {
        part.addPartitions(partition);
        if (isSince && positions.containsKey(partition)) {
          part.addSince(positions.get(partition));
        }
      }
      ReadResult result =
          DataCluster.batches(
              cluster.client(endpoint.getLocations().get(0)),
              ticket(part),
              root -> DataCluster.rows(root).forEach(row -> ids.add((Long) row.get(0))));
      result.getPositionsList().forEach(each -> positions.put(each.getPartition(), each));
    }
    ids.sort(null);
    return ids;
  }

  private static KeyRange range(long begin, long end) {
    return KeyRange.newBuilder().setBegin(begin).setEnd(end).build();
  }

  private static Replay replay(double share, int begin) {
    return Replay.newBuilder().setShare(share).setBegin(begin).build();
  }
}
