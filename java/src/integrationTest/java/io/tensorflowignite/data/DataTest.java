package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.Ticket;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.function.ThrowingRunnable;

/** Three nodes for the tests of a class, and what these tests share. */
public abstract class DataTest {
  static DataCluster cluster;
  static Ignite ignite;

  @BeforeClass
  public static void startNodes() throws Exception {
    cluster = DataCluster.start(3);
    ignite = cluster.node(0);
  }

  @AfterClass
  public static void stopNodes() throws Exception {
    cluster.close();
  }

  @After
  public void destroyCachesAndProveThatNothingLeaked() {
    cluster.awaitIdle();
    ignite.destroyCaches(ignite.cacheNames());
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
      BinaryObject object =
          ignite
              .binary()
              .builder(type)
              .setField("pixels", pixels)
              .setField("label", i % 10)
              .setField("name", "row " + i)
              .build();
      cache.put(i, object);
    }
  }

  static void assertFails(
      FlightStatusCode status, String begins, String ends, ThrowingRunnable call) {
    FlightRuntimeException error = assertThrows(FlightRuntimeException.class, call);
    assertEquals(error.getMessage(), status, error.status().code());
    assertTrue(error.getMessage(), error.getMessage().contains(begins));
    assertTrue(error.getMessage(), error.getMessage().contains(ends));
  }

  static List<Integer> partitions(FlightEndpoint endpoint) {
    return command(endpoint).getPartitionsList();
  }

  /** A node that is asked for partitions of another sends no row, and names all of them. */
  static void assertNamesWhatIsElsewhere(ReadCommand command) throws Exception {
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

  /** The ticket of a reader that looks for the new owners of partitions that move. */
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
