package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.Arrays;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.Ticket;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/** What cannot be read is told, with its reason and what to do. */
public class ItReadErrors extends DataTest {
  @Test
  public void anUnknownCacheIsToldWithThoseThatExist() {
    create(new CacheConfiguration<>("known"), 4, 0);
    create(new CacheConfiguration<>("tensorflow-ignite-jobs"), 4, 0);

    assertFails(
        FlightStatusCode.NOT_FOUND,
        "there is no cache nope; the cluster's caches are [known];",
        "[code=CACHE_NOT_FOUND]",
        () -> cluster.info(command("nope").build()));
  }

  @Test
  public void anUnknownColumnIsToldWithThoseThatExist() {
    fillObjects(create(new CacheConfiguration<>("digits"), 4, 0), "Digit", 1);

    assertFails(
        FlightStatusCode.NOT_FOUND,
        "cache digits has no column pixel; its columns are [",
        "[code=COLUMN_NOT_FOUND]",
        () -> cluster.info(command("digits").addColumns("pixel").build()));
  }

  @Test
  public void anEmptyCacheWithoutSchemaIsAnError() {
    create(new CacheConfiguration<>("empty"), 4, 0);

    assertFails(
        FlightStatusCode.INVALID_ARGUMENT,
        "cache empty is empty and nothing tells its columns",
        "[code=SCHEMA_UNKNOWN]",
        () -> cluster.info(command("empty").build()));
  }

  @Test
  public void aColumnThatNothingTellsIsAnErrorOnlyWhenItIsRead() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("odd"), 4, 0);
    for (int i = 0; i < 20; i++) {
      cache.put(
          i,
          ignite
              .binary()
              .builder("Odd")
              .setField("tags", new ArrayList<>())
              .setField("mixed", Arrays.asList(1, "two"))
              .setField("n", i)
              .build());
    }

    assertFails(
        FlightStatusCode.INVALID_ARGUMENT,
        "cache odd: column tags is of type Collection, and nothing tells what it holds",
        "schema={\"tags\": ...}), or leave the column out (columns=[...]) [code=SCHEMA_UNKNOWN]",
        () -> cluster.info(command("odd").addColumns("tags").build()));
    assertFails(
        FlightStatusCode.INVALID_ARGUMENT,
        "cache odd: column mixed[1] holds values of types Integer and String;",
        "[code=UNSUPPORTED_TYPE]",
        () -> cluster.info(command("odd").addColumns("mixed").build()));
    assertEquals(20, cluster.readAll(command("odd").addColumns("n").build()).size());
  }

  @Test
  public void aNullIsToldWithItsRow() {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("holes"), 1, 0);
    cache.put(1, ignite.binary().builder("Holes").setField("n", 1).build());
    cache.put(2, ignite.binary().builder("Holes").setField("n", null, Integer.class).build());

    assertFails(
        FlightStatusCode.INVALID_ARGUMENT,
        "cache holes, key 2: column n is null;",
        "[code=ROW_MISMATCH]",
        () -> cluster.readAll(command("holes").build()));
  }

  @Test
  public void aPartitionOfAnotherNodeIsRefused() {
    fillObjects(create(new CacheConfiguration<>("digits"), 16, 1), "Digit", 10);
    FlightInfo info = cluster.info(command("digits").build());
    FlightEndpoint first = info.getEndpoints().get(0);
    FlightEndpoint second = info.getEndpoints().get(1);

    assertFails(
        FlightStatusCode.UNAVAILABLE,
        "partition " + partitions(second).get(0) + " of cache digits is not primary on node",
        "[code=PARTITION_NOT_LOCAL]",
        () -> DataCluster.read(cluster.client(first.getLocations().get(0)), second.getTicket()));
  }

  @Test
  public void partitionsOfAnotherNodeAreNamedToAReaderThatFollowsThem() throws Exception {
    fillObjects(create(new CacheConfiguration<>("digits"), 16, 1), "Digit", 10);

    assertNamesWhatIsElsewhere(command("digits").build());
  }

  @Test
  public void anOwnerWithoutEndpointIsAnError() {
    fillObjects(create(new CacheConfiguration<>("digits"), 16, 0), "Digit", 10);
    String address = cluster.forget(2);
    try {
      assertFails(
          FlightStatusCode.UNAVAILABLE,
          "node " + cluster.node(2).cluster().localNode().id() + " owns ",
          "partitions that are asked for, but runs no data endpoint",
          () -> cluster.info(command("digits").build()));
    } finally {
      cluster.remember(2, address);
    }
  }

  @Test
  public void whatCannotBeReadIsRefused() {
    fillObjects(create(new CacheConfiguration<>("digits"), 4, 0), "Digit", 10);

    assertInvalid(
        "partition 4 cannot be read",
        () -> cluster.info(command("digits").addPartitions(4).build()));
    assertInvalid(
        "or is named twice",
        () -> cluster.info(command("digits").addPartitions(1).addPartitions(1).build()));
    assertInvalid(
        "names no partition", () -> DataCluster.read(cluster.client(0), ticket(command("digits"))));
    assertInvalid(
        "holds no command",
        () -> DataCluster.read(cluster.client(0), new Ticket(new byte[] {-1, 7})));
    assertInvalid("no cache is named", () -> cluster.info(ReadCommand.getDefaultInstance()));
    assertInvalid(
        "batches of -1 bytes", () -> cluster.info(command("digits").setBatchBytes(-1).build()));
  }

  private static void assertInvalid(String text, ThrowingRunnable call) {
    assertFails(FlightStatusCode.INVALID_ARGUMENT, text, "[code=INVALID_REQUEST]", call);
  }
}
