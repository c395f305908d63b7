package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.Full;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadLimit;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.Ticket;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.function.ThrowingRunnable;

/** Errors of reading give the reason and what to do. */
public class ItReadErrors extends DataTest {
  @Test
  public void anUnknownCacheOrColumnIsAnErrorThatNamesTheExistingOnes() {
    fillObjects(create(new CacheConfiguration<>("known"), 4, 0), "Digit", 1);
    create(new CacheConfiguration<>("tensorflow-ignite-jobs"), 4, 0);

    for (String cache : List.of("nope", "ignite-sys-cache")) {
      assertFails(
          FlightStatusCode.NOT_FOUND,
          "there is no cache " + cache + "; the cluster's caches are [known];",
          "[code=CACHE_NOT_FOUND]",
          () -> cluster.info(command(cache).build()));
    }
    assertFails(
        FlightStatusCode.NOT_FOUND,
        "cache known has no column pixel; its columns are [",
        "[code=COLUMN_NOT_FOUND]",
        () -> cluster.info(command("known").addColumns("pixel").build()));
  }

  @Test
  public void aColumnOfUnknownTypeIsAnErrorOnlyIfItIsRead() throws Exception {
    IgniteCache<Object, Object> cache = create(new CacheConfiguration<>("odd"), 4, 0);
    for (int i = 0; i < 20; i++) {
      List<Object> mixed = new ArrayList<>(List.of(1, "two"));
      cache.put(i, object("Odd", "tags", new ArrayList<>(), "mixed", mixed, "n", i));
    }

    assertFails(
        FlightStatusCode.INVALID_ARGUMENT,
        "cache odd: column tags is of type Collection, and the types inside it are not known",
        "schema={\"tags\": ...}), or leave the column out (columns=[...]) [code=SCHEMA_UNKNOWN]",
        () -> cluster.info(command("odd").addColumns("tags").build()));
    assertInvalid(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache odd: column mixed[1] holds values of types Integer and String;",
        () -> cluster.info(command("odd").addColumns("mixed").build()));
    assertEquals(20, cluster.readAll(command("odd").addColumns("n").build()).size());
  }

  @Test
  public void aPartitionOfAnotherNodeIsRefusedOrNamedToAReaderThatFollowsIt() throws Exception {
    fillObjects(create(new CacheConfiguration<>("digits"), 16, 1), "Digit", 10);
    FlightInfo info = cluster.info(command("digits").build());
    FlightEndpoint first = info.getEndpoints().get(0);
    FlightEndpoint second = info.getEndpoints().get(1);

    assertFails(
        FlightStatusCode.UNAVAILABLE,
        "partition " + partitions(second).get(0) + " of cache digits is not primary on node",
        "[code=PARTITION_NOT_LOCAL]",
        () -> DataCluster.read(cluster.client(first.getLocations().get(0)), second.getTicket()));
    assertPartitionsOfAnotherNodeAreNamed(command("digits").build());
  }

  @Test
  @Category(Full.class)
  public void anOwnerWithoutEndpointIsAnError() {
    fillObjects(create(new CacheConfiguration<>("digits"), 16, 0), "Digit", 10);
    String address = cluster.removeAddress(2);
    try {
      assertFails(
          FlightStatusCode.UNAVAILABLE,
          "node " + cluster.node(2).cluster().localNode().id() + " owns ",
          "of the requested partitions, but runs no data endpoint",
          () -> cluster.info(command("digits").build()));
    } finally {
      cluster.putAddress(2, address);
    }
  }

  @Test
  public void anOwnerThatHasJustJoinedIsAwaitedUntilItsServiceHasStarted() {
    fillObjects(create(new CacheConfiguration<>("digits"), 64, 0), "Digit", 10);
    String address = cluster.removeAddress(2);
    cluster.onMissingAddress(() -> cluster.putAddress(2, address));
    try {
      assertEquals(3, cluster.info(command("digits").build()).getEndpoints().size());
    } finally {
      cluster.onMissingAddress(() -> {});
      cluster.putAddress(2, address);
    }
  }

  @Test
  public void invalidCommandsAreRefused() {
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
    assertInvalid(
        "the command names no cache", () -> cluster.info(ReadCommand.getDefaultInstance()));
    assertInvalid(
        "batches of -1 bytes", () -> cluster.info(command("digits").setBatchBytes(-1).build()));
    ReadLimit negative = ReadLimit.newBuilder().setRowsPerSecond(-1).build();
    assertInvalid(
        "0 bytes or -1 rows in a second are no rate of reading; read_rate has numbers above 0",
        () -> cluster.info(command("digits").setReadRate(negative).build()));
  }

  private static void assertInvalid(String text, ThrowingRunnable call) {
    assertInvalid(ERROR_CODE_INVALID_REQUEST, text, call);
  }
}
