package io.tensorflowignite.storage;

import static io.tensorflowignite.Await.until;
import static io.tensorflowignite.storage.FileServers.assertRefused;
import static io.tensorflowignite.storage.FileServers.block;
import static io.tensorflowignite.storage.FileServers.checksum;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.FutureResponse;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.BlockHolders;
import io.tensorflowignite.v1.CheckBlocksRequest;
import io.tensorflowignite.v1.CheckBlocksResponse;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.PutBlocksResponse;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.junit.Test;

/**
 * Transfer of blocks between clients and nodes.
 *
 * <p>Promise (memory): A slow reader holds only a few blocks in memory.
 */
public class ItBlocks extends StorageTest {
  private static final int MEGABYTE = 1 << 20;

  private final Random random = new Random(7);

  @Test
  public void everyNodeStoresAndReturnsEveryBlock() {
    String extent = begin(StorageNodes.BLOCK_BYTES);
    byte[][] data = new byte[12][];
    for (int number = 0; number < data.length; number++) {
      data[number] = bytes(number == data.length - 1 ? 100 : StorageNodes.BLOCK_BYTES);
    }
    BlockHolders holders = reserve(extent, data.length);
    assertEquals(data.length, holders.getHoldersCount());
    Set<String> owners = new TreeSet<>(holders.getAddressesList());
    assertTrue(owners.toString(), servers.addresses.containsAll(owners) && owners.size() > 1);
    for (int number = 0; number < data.length; number++) {
      servers.put(number % 3, block(extent, number, data[number]).build());
      String holder = holders.getAddresses(holders.getHolders(number));
      int node = servers.addresses.indexOf(holder);
      assertTrue(
          cluster
              .nodes
              .get(node)
              .affinity("store-blocks")
              .isPrimary(cluster.nodes.get(node).cluster().localNode(), extent + "/" + number));
    }
    for (int node = 0; node < 3; node++) {
      int expected = data.length - 1;
      ReadBlocksRequest.Builder all = ReadBlocksRequest.newBuilder().setExtentId(extent);
      for (int number = expected; number >= 0; number--) {
        all.addNumbers(number);
      }
      for (ReadBlocksResponse block : servers.read(node, all)) {
        assertEquals(expected, block.getNumber());
        assertArrayEquals(data[expected], block.getData().toByteArray());
        assertEquals(checksum(data[expected]), block.getChecksum());
        expected--;
      }
      assertEquals(-1, expected);
    }
  }

  @Test
  public void aPartOfABlockComesWithAChecksumOfItsOwn() {
    String extent = begin(StorageNodes.BLOCK_BYTES);
    reserve(extent, 1);
    byte[] data = bytes(StorageNodes.BLOCK_BYTES);
    servers.put(0, block(extent, 0, data).build());
    int[][] parts = {{0, 1}, {5, 1_000}, {4_000, 0}, {4_000, 1_000}, {4_096, 0}, {9_999, 5}};
    for (int[] part : parts) {
      int from = Math.min(part[0], data.length);
      int to = part[1] == 0 ? data.length : Math.min(data.length, part[0] + part[1]);
      byte[] expected = Arrays.copyOfRange(data, from, Math.max(from, to));
      ReadBlocksResponse read =
          servers.read(1, reading(extent, 0).setOffset(part[0]).setBytes(part[1])).get(0);
      assertArrayEquals(expected, read.getData().toByteArray());
      assertEquals(checksum(expected), read.getChecksum());
    }
    for (ReadBlocksRequest.Builder wrong :
        Arrays.asList(
            reading(extent, 0, 0).setOffset(1),
            reading(extent, 0).setOffset(-1),
            reading(extent, 0).setBytes(-1),
            reading(extent, -1))) {
      assertRefused(Status.Code.INVALID_ARGUMENT, "INVALID_REQUEST", () -> servers.read(0, wrong));
    }
  }

  @Test
  public void onlyWholeBlocksOfALivingWriterAreAccepted() {
    String extent = begin(StorageNodes.BLOCK_BYTES);
    byte[] data = bytes(StorageNodes.BLOCK_BYTES);
    reserve(extent, 2);
    String text =
        assertRefused(
            Status.Code.DATA_LOSS,
            "FILE_CORRUPT",
            () -> servers.put(0, block(extent, 1, data).setChecksum(7).build()));
    assertTrue(text, text.contains("Block 1 of extent " + extent));
    text =
        assertRefused(
            Status.Code.INVALID_ARGUMENT,
            "INVALID_REQUEST",
            () -> servers.put(0, block(extent, 2, data).build()));
    assertTrue(text, text.contains("has reserved 2 blocks"));
    for (byte[] wrong : new byte[][] {{}, bytes(StorageNodes.BLOCK_BYTES + 1)}) {
      assertRefused(
          Status.Code.INVALID_ARGUMENT,
          "INVALID_REQUEST",
          () -> servers.put(0, block(extent, 0, wrong).build()));
    }
    assertEquals(0, cluster.blocks());

    store().writers().abandon(extent);
    assertRefused(
        Status.Code.ABORTED, "FILE_CHANGED", () -> servers.put(0, block(extent, 0, data).build()));
    assertEquals(0, cluster.blocks());
  }

  @Test
  public void aCallGoesOnWithBlocksThatWereReservedAfterItBegan() throws Exception {
    String extent = begin(StorageNodes.BLOCK_BYTES);
    reserve(extent, 1);
    FutureResponse<PutBlocksResponse> ended = new FutureResponse<>();
    StreamObserver<PutBlocksRequest> call = servers.streams(0).putBlocks(ended);
    call.onNext(block(extent, 0, bytes(10)).build());
    until("the first block", () -> cluster.blocks() == 1);
    reserve(extent, 2);
    call.onNext(block(extent, 1, bytes(10)).build());
    call.onCompleted();
    ended.get(60, TimeUnit.SECONDS);
    assertEquals(2, cluster.blocks());
  }

  @Test
  public void aShortBlockThatArrivesLateDoesNotReplaceALongerOne() {
    String extent = begin(StorageNodes.BLOCK_BYTES);
    reserve(extent, 1);
    byte[] data = bytes(StorageNodes.BLOCK_BYTES);
    for (int bytes : new int[] {10, 2_000, 100, StorageNodes.BLOCK_BYTES, 50}) {
      servers.put(bytes % 3, block(extent, 0, Arrays.copyOf(data, bytes)).build());
    }
    assertArrayEquals(data, servers.read(2, reading(extent, 0)).get(0).getData().toByteArray());
  }

  @Test
  public void aCorruptBlockIsNeverReturnedAndACheckReportsIt() {
    String extent = publish("/damaged", 3);
    IgniteCache<String, byte[]> cache = store().caches().blocks();
    byte[] value = cache.get(extent + "/1").clone();
    value[1_000] ^= 1;
    cache.put(extent + "/1", value);
    cache.put("foreign", new byte[0]);

    assertEquals(List.of(0, 1, 2), checked(CheckBlocksResponse::getNumbersList));
    assertEquals(List.of(1), checked(CheckBlocksResponse::getCorruptList));
    cache.remove("foreign");
    assertEquals(1, servers.read(0, reading(extent, 2)).size());
    for (int node = 0; node < 3; node++) {
      int from = node;
      String text =
          assertRefused(
              Status.Code.DATA_LOSS,
              "FILE_CORRUPT",
              () -> servers.read(from, reading(extent, 0, 1, 2)));
      assertTrue(text, text.contains("Block 1 of extent " + extent + " is corrupt"));
      assertTrue(text, text.contains("tensorflow-ignite fs check"));
    }
    assertRefused(
        Status.Code.DATA_LOSS,
        "FILE_CORRUPT",
        () -> servers.read(0, reading(extent, 1).setBytes(10)));

    cache.put(extent + "/1", new byte[] {1});
    assertRefused(Status.Code.DATA_LOSS, "FILE_CORRUPT", () -> servers.read(0, reading(extent, 1)));

    cache.remove(extent + "/1");
    String text =
        assertRefused(
            Status.Code.DATA_LOSS, "FILE_LOST", () -> servers.read(0, reading(extent, 1)));
    assertTrue(text, text.contains("Block 1 of extent " + extent + " is lost"));
  }

  /** Numbers of blocks that the checks of all nodes report, in their order. */
  private static List<Integer> checked(Function<CheckBlocksResponse, List<Integer>> numbers) {
    List<Integer> found = new ArrayList<>();
    for (int node = 0; node < 3; node++) {
      servers
          .calls(node)
          .checkBlocks(CheckBlocksRequest.getDefaultInstance())
          .forEachRemaining(answer -> found.addAll(numbers.apply(answer)));
    }
    Collections.sort(found);
    return found;
  }

  @Test
  public void aRemovedFilesBlocksAreRemovedAtOnceAndItsReadersFail() {
    String extent = publish("/removed", 5);
    assertEquals(5, cluster.blocks());
    remove("/removed");
    until("blocks of a removed file", () -> cluster.blocks() == 0);
    String text =
        assertRefused(
            Status.Code.ABORTED, "FILE_CHANGED", () -> servers.read(1, reading(extent, 0)));
    assertTrue(text, text.contains("replaced or removed"));
  }

  /** Each block is larger than the transport's buffer for a receiver. */
  @Test
  public void aSlowReaderHoldsOnlyAFewBlocksInMemory() throws Exception {
    String extent = begin(MEGABYTE);
    reserve(extent, 40);
    byte[] data = bytes(MEGABYTE);
    ReadBlocksRequest.Builder all = ReadBlocksRequest.newBuilder().setExtentId(extent);
    Ignite node = cluster.nodes.get(0);
    for (int number = 0; number < 40; number++) {
      cluster.store(0).blocks().put(extent, number, Block.of(data, 0, data.length));
      // A node counts only reads of the blocks that it holds.
      if (node.affinity("store-blocks")
          .isPrimaryOrBackup(node.cluster().localNode(), extent + "/" + number)) {
        all.addNumbers(number);
      }
    }
    int count = all.getNumbersCount();
    IgniteCache<String, byte[]> cache = cluster.store(0).caches().blocks();
    cache.enableStatistics(true);
    long before = cache.localMetrics().getCacheGets();
    SlowReader reader = new SlowReader();
    servers.streams(0).readBlocks(all.build(), reader);
    reader.takeUntil(1);
    until("blocks are read ahead", () -> cache.localMetrics().getCacheGets() - before >= 2);
    // In the windows of the transport, and in the server's queue.
    long inMemory = FileServers.settled(() -> cache.localMetrics().getCacheGets()) - before;
    assertTrue(inMemory + " blocks", inMemory >= 2 && inMemory <= 6);
    reader.takeUntil(count);
    reader.ended.get(60, TimeUnit.SECONDS);
    assertEquals(count, cache.localMetrics().getCacheGets() - before);
    cache.enableStatistics(false);
  }

  private static final class SlowReader
      implements ClientResponseObserver<ReadBlocksRequest, ReadBlocksResponse> {
    final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final AtomicInteger taken = new AtomicInteger();
    private ClientCallStreamObserver<ReadBlocksRequest> call;

    @Override
    public void beforeStart(ClientCallStreamObserver<ReadBlocksRequest> stream) {
      call = stream;
      call.disableAutoRequestWithInitial(0);
    }

    void takeUntil(int count) {
      call.request(count - taken.get());
      until("block " + count, () -> taken.get() == count || ended.isCompletedExceptionally());
    }

    @Override
    public void onNext(ReadBlocksResponse block) {
      taken.incrementAndGet();
    }

    @Override
    public void onError(Throwable problem) {
      ended.completeExceptionally(problem);
    }

    @Override
    public void onCompleted() {
      ended.complete(null);
    }
  }

  private static ReadBlocksRequest.Builder reading(String extent, Integer... numbers) {
    return ReadBlocksRequest.newBuilder().setExtentId(extent).addAllNumbers(Arrays.asList(numbers));
  }

  private byte[] bytes(int count) {
    byte[] data = new byte[count];
    random.nextBytes(data);
    return data;
  }

  private static String begin(int blockBytes) {
    return servers
        .calls(0)
        .beginWrite(beginning("/begun").setBlockBytes(blockBytes).build())
        .getExtentId();
  }

  private static BlockHolders reserve(String extent, int blocks) {
    return servers
        .calls(1)
        .reserveBlocks(
            ReserveBlocksRequest.newBuilder().setExtentId(extent).setBlocks(blocks).build())
        .getHolders();
  }

  /** Publishes a file with a number of blocks, and returns the id of its extent. */
  private String publish(String path, int blocks) {
    BeginWriteResponse writer = begin(path, WRITE_MODE_REPLACE);
    String extent = writer.getExtentId();
    store().writers().reserve(extent, blocks);
    for (int number = 0; number < blocks; number++) {
      servers.put(number % 3, block(extent, number, bytes(StorageNodes.BLOCK_BYTES)).build());
    }
    long bytes = (long) blocks * StorageNodes.BLOCK_BYTES;
    store().writers().publish(publication(writer, bytes).setDone(true).build());
    return extent;
  }
}
