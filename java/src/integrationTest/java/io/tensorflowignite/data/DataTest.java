package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.AtExit;
import io.tensorflowignite.Await;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.After;
import org.junit.BeforeClass;
import org.junit.function.ThrowingRunnable;

/** Three nodes, which all classes of a JVM share, and helpers. */
public abstract class DataTest {
  static DataCluster cluster;
  static Ignite ignite;

  @BeforeClass
  public static void startNodes() throws Exception {
    if (cluster == null) {
      cluster = DataCluster.start(3);
      ignite = cluster.node(0);
      AtExit.close(cluster::close);
    }
  }

  @After
  public void destroyCachesAndProveThatNothingLeaked() {
    cluster.awaitIdle();
    Set<String> caches = new HashSet<>(ignite.cacheNames());
    // Endpoints hold it, and its rows go with the caches.
    caches.remove(SystemCache.LOSSES.cacheName());
    // Ignite may end a node that receives partitions of a cache while this is destroyed.
    Await.until("no partition moves", () -> caches.stream().noneMatch(DataTest::isMoving));
    ignite.destroyCaches(caches);
  }

  /** A cache with a delay keeps partitions that it has not begun to copy. */
  @SuppressWarnings({"unchecked", "deprecation"})
  private static boolean isMoving(String cache) {
    return ignite.cache(cache).getConfiguration(CacheConfiguration.class).getRebalanceDelay() == 0
        && cluster.isMoving(cache);
  }

  static ReadCommand.Builder command(String cache) {
    return ReadCommand.newBuilder().setCache(cache);
  }

  static Ticket ticket(ReadCommand.Builder command) {
    return new Ticket(command.build().toByteArray());
  }

  static IgniteCache<Object, Object> create(
      CacheConfiguration<Object, Object> configuration, int partitions, int backups) {
    return ignite.createCache(
        configuration
            .setAffinity(new RendezvousAffinityFunction(false, partitions))
            .setBackups(backups));
  }

  static void fillObjects(IgniteCache<Object, Object> cache, String type, int rows) {
    for (int i = 0; i < rows; i++) {
      byte[] pixels = new byte[64];
      Arrays.fill(pixels, (byte) i);
      cache.put(i, object(type, "pixels", pixels, "label", i % 10, "name", "row " + i));
    }
  }

  /** A binary object with fields of these names and values, in turns. */
  static BinaryObject object(String type, Object... fields) {
    BinaryObjectBuilder object = ignite.binary().builder(type);
    for (int i = 0; i < fields.length; i += 2) {
      object.setField((String) fields[i], fields[i + 1]);
    }
    return object.build();
  }

  static List<String> names(Schema schema) {
    return schema.getFields().stream().map(Field::getName).collect(Collectors.toList());
  }

  /** Runs a statement of SQL in the schema PUBLIC, and returns its rows. */
  static List<List<?>> sql(String text, Object... values) {
    return ignite
        .getOrCreateCache("schema")
        .query(new SqlFieldsQuery(text).setSchema("PUBLIC").setArgs(values))
        .getAll();
  }

  static void assertInvalid(ErrorCode code, String text, ThrowingRunnable call) {
    assertFails(
        FlightStatusCode.INVALID_ARGUMENT, text, "[code=" + MessageText.name(code) + "]", call);
  }

  static void assertFails(
      FlightStatusCode status, String text, String code, ThrowingRunnable call) {
    FlightRuntimeException error = assertThrows(FlightRuntimeException.class, call);
    assertEquals(error.getMessage(), status, error.status().code());
    assertTrue(error.getMessage(), error.getMessage().contains(text));
    assertTrue(error.getMessage(), error.getMessage().contains(code));
  }

  static List<Integer> partitions(FlightEndpoint endpoint) {
    return command(endpoint).getPartitionsList();
  }

  /** Starts a node, and waits until it owns some of these partitions, which were here. */
  static void moveSomeOf(String cache, List<Integer> partitions) {
    try {
      cluster.addNode();
    } catch (IOException failure) {
      throw new AssertionError(failure);
    }
    Await.until(
        "a partition moves",
        () ->
            partitions.stream()
                .map(partition -> ignite.affinity(cache).mapPartitionToNode(partition))
                .anyMatch(owner -> !owner.isLocal()));
  }

  /** A node sends no row of another node's partitions, and names all of these as moved. */
  static void assertPartitionsOfAnotherNodeAreNamed(ReadCommand command) throws Exception {
    FlightInfo info = cluster.info(command);
    FlightEndpoint first = info.getEndpoints().get(0);
    FlightEndpoint second = info.getEndpoints().get(1);
    ReadResult result =
        DataCluster.batches(
            cluster.client(first.getLocations().get(0)),
            following(second),
            rows -> fail("these rows are another node's"));
    assertEquals(partitions(second), result.getMovedList());
  }

  /** The ticket of a reader that reads moved partitions from their new owners. */
  static Ticket following(FlightEndpoint endpoint) {
    return ticket(command(endpoint).toBuilder().setFollow(true));
  }

  private static ReadCommand command(FlightEndpoint endpoint) {
    try {
      return ReadCommand.parseFrom(endpoint.getTicket().getBytes());
    } catch (InvalidProtocolBufferException malformed) {
      throw new AssertionError(malformed);
    }
  }
}
