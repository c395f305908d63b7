package io.tensorflowignite.data;

import static org.junit.Assert.assertEquals;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.api.DataEndpoint;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.data.change.ChangeFeeds;
import io.tensorflowignite.data.flight.NodeDirectory;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.loss.LossDetector;
import io.tensorflowignite.data.read.PartitionReader;
import io.tensorflowignite.data.sql.SqlReader;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.Text;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.IgniteCacheProxy;

/**
 * Real Ignite nodes in this JVM, each with a data endpoint behind a gRPC server, and a Flight
 * client for each.
 */
final class DataCluster {
  private static final int PORTS = 10;

  /** No update of these tests is under way when a feed begins. */
  private static final Duration FEED_GRACE = Duration.ofMillis(20);

  private final List<Ignite> nodes = new ArrayList<>();
  private final List<DataEndpoint> endpoints = new ArrayList<>();
  private final List<Server> servers = new ArrayList<>();
  private final List<LossDetector> detectors = new ArrayList<>();
  private final List<ChangeFeeds> feeds = new ArrayList<>();
  private final Map<UUID, String> addresses = new ConcurrentHashMap<>();
  private volatile Runnable onMissingAddress = () -> {};
  private final Map<Location, FlightClient> clients = new ConcurrentHashMap<>();
  private final BufferAllocator allocator = new RootAllocator();
  private final String name = "data-" + UUID.randomUUID();
  private final Path work = Files.createTempDirectory("data-cluster");
  private final LoopbackNodes cluster = new LoopbackNodes(PORTS);

  private DataCluster() throws IOException {}

  static DataCluster start(int size) throws IOException {
    DataCluster cluster = new DataCluster();
    for (int i = 0; i < size; i++) {
      cluster.addNode();
    }
    return cluster;
  }

  void stopLastNode() throws InterruptedException {
    int last = nodes.size() - 1;
    servers.remove(last).shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    endpoints.remove(last).close();
    detectors.remove(last).close();
    feeds.remove(last).close();
    nodes.remove(last).close();
  }

  int size() {
    return nodes.size();
  }

  /** Whether each node has the partition maps of the present nodes. */
  boolean hasPartitionMaps() {
    return nodes.stream()
        .allMatch(
            node ->
                ((IgniteEx) node)
                            .context()
                            .cache()
                            .context()
                            .exchange()
                            .readyAffinityVersion()
                            .topologyVersion()
                        == node.cluster().topologyVersion()
                    && node.cluster().nodes().size() == size());
  }

  /** Whether a node makes a copy of a partition of the cache now. */
  boolean isMoving(String cache) {
    return nodes.stream()
        .map(node -> ((IgniteCacheProxy<?, ?>) node.cache(cache)).context())
        .anyMatch(cacheOfNode -> cacheOfNode.topology().localPartitionMap().hasMovingPartitions());
  }

  Ignite node(int index) {
    return nodes.get(index);
  }

  /** What nodes do each second: every node knows which others observe, and losses are stored. */
  void storeLosses() {
    List<UUID> ids =
        nodes.stream().map(node -> node.cluster().localNode().id()).collect(Collectors.toList());
    for (LossDetector detector : detectors) {
      detector.observers(ids);
      detector.store();
    }
  }

  CacheLosses losses(int index) {
    return new CacheLosses(nodes.get(index));
  }

  DataEndpoint endpoint(int index) {
    return endpoints.get(index);
  }

  BufferAllocator allocator() {
    return allocator;
  }

  /** Removes the address of a node's endpoint from the directory, and returns it. */
  String removeAddress(int index) {
    return addresses.remove(nodes.get(index).cluster().localNode().id());
  }

  void putAddress(int index, String address) {
    addresses.put(nodes.get(index).cluster().localNode().id(), address);
  }

  /** Runs each time after a node has requested an address that the directory does not have. */
  void onMissingAddress(Runnable action) {
    onMissingAddress = action;
  }

  FlightClient client(int index) {
    return client(Location.forGrpcInsecure("127.0.0.1", servers.get(index).getPort()));
  }

  FlightClient client(Location location) {
    return clients.computeIfAbsent(location, at -> FlightClient.builder(allocator, at).build());
  }

  FlightInfo info(ReadCommand command) {
    return client(0).getInfo(FlightDescriptor.command(command.toByteArray()));
  }

  Schema schema(ReadCommand command) {
    return info(command).getSchemaOptional().orElseThrow(AssertionError::new);
  }

  FlightStream stream(FlightEndpoint endpoint) {
    return client(endpoint.getLocations().get(0)).getStream(endpoint.getTicket());
  }

  ReadResult batches(FlightEndpoint endpoint, Consumer<VectorSchemaRoot> consumer)
      throws Exception {
    return batches(client(endpoint.getLocations().get(0)), endpoint.getTicket(), consumer);
  }

  /** All rows of all endpoints, as lists of the vectors' objects; proves that no row is skipped. */
  List<List<Object>> readAll(ReadCommand command) throws Exception {
    return readAll(command, 0);
  }

  /** All rows; proves that the endpoints report {@code skipped} skipped rows. */
  List<List<Object>> readAll(ReadCommand command, long skipped) throws Exception {
    List<List<Object>> rows = new ArrayList<>();
    long reported = 0;
    for (FlightEndpoint endpoint : info(command).getEndpoints()) {
      reported += batches(endpoint, root -> rows.addAll(rows(root))).getSkipped();
    }
    assertEquals("skipped rows", skipped, reported);
    return rows;
  }

  static List<List<Object>> read(FlightClient client, Ticket ticket) throws Exception {
    List<List<Object>> rows = new ArrayList<>();
    batches(client, ticket, root -> rows.addAll(rows(root)));
    return rows;
  }

  /**
   * Reads a stream, and proves that it ends with the number of its rows, in a message without rows.
   *
   * @return the content of that message
   */
  static ReadResult batches(FlightClient client, Ticket ticket, Consumer<VectorSchemaRoot> consumer)
      throws Exception {
    try (FlightStream stream = client.getStream(ticket)) {
      long rows = 0;
      // Empty metadata, such as a result of zeros, do not arrive.
      ReadResult result = ReadResult.getDefaultInstance();
      while (stream.next()) {
        if (stream.getRoot().getRowCount() > 0) {
          rows += stream.getRoot().getRowCount();
          consumer.accept(stream.getRoot());
        }
        ArrowBuf metadata = stream.getLatestMetadata();
        if (metadata != null && metadata.readableBytes() > 0) {
          byte[] bytes = new byte[(int) metadata.readableBytes()];
          metadata.getBytes(metadata.readerIndex(), bytes);
          result = ReadResult.parseFrom(bytes);
        }
      }
      assertEquals(rows, result.getRows());
      return result;
    }
  }

  static List<List<Object>> rows(VectorSchemaRoot root) {
    List<List<Object>> rows = new ArrayList<>();
    for (int row = 0; row < root.getRowCount(); row++) {
      List<Object> cells = new ArrayList<>();
      for (FieldVector vector : root.getFieldVectors()) {
        cells.add(comparable(vector.getObject(row)));
      }
      rows.add(cells);
    }
    return rows;
  }

  /** Waits until neither endpoints nor clients hold memory of batches, and no thread reads. */
  void awaitIdle() {
    Await.until("no endpoint holds memory of batches", () -> allocatedBytes() == 0);
    Await.until("no client holds memory of batches", () -> allocator.getAllocatedMemory() == 0);
    Await.until("no partition is being read", () -> !isReading());
  }

  private long allocatedBytes() {
    return endpoints.stream().mapToLong(DataEndpoint::allocatedBytes).sum();
  }

  private static boolean isReading() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .map(StackTraceElement::getClassName)
        .anyMatch(
            name ->
                name.equals(PartitionReader.class.getName())
                    || name.equals(SqlReader.class.getName()));
  }

  void close() throws Exception {
    for (FlightClient client : clients.values()) {
      client.close();
    }
    for (Server server : servers) {
      server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
    endpoints.forEach(DataEndpoint::close);
    Collections.reverse(nodes);
    nodes.forEach(Ignite::close);
    allocator.close();
    try (Stream<Path> files = Files.walk(work)) {
      for (Path file : (Iterable<Path>) files.sorted(Collections.reverseOrder())::iterator) {
        Files.delete(file);
      }
    }
  }

  void addNode() throws IOException {
    IgniteConfiguration configuration =
        cluster
            .configuration(name + "-" + nodes.size(), work)
            .setDataStorageConfiguration(
                LoopbackNodes.storage(new DataRegionConfiguration().setMaxSize(512L << 20)));
    Ignite node = Ignition.start(configuration);
    nodes.add(node);
    LossDetector detector = LossDetector.open(node, () -> {});
    detectors.add(detector);
    feeds.add(ChangeFeeds.open(node, FEED_GRACE));
    DataEndpoint endpoint =
        new DataEndpoint(
            node,
            directory(node),
            new CacheLosses(node, detector),
            feeds.get(feeds.size() - 1),
            BatchLimits.DEFAULT,
            ReadRate.ADAPTIVE,
            Guard.open(),
            TcpPort.open("127.0.0.1", 0, 0, Loops.of(node), node.log()));
    endpoints.add(endpoint);
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .maxInboundMessageSize(Integer.MAX_VALUE);
    endpoint.services().forEach(builder::addService);
    Server server = builder.build().start();
    servers.add(server);
    addresses.put(node.cluster().localNode().id(), "127.0.0.1:" + server.getPort());
  }

  private NodeDirectory directory(Ignite node) {
    return new NodeDirectory() {
      @Override
      public Optional<String> address(UUID nodeId) {
        Optional<String> address = Optional.ofNullable(addresses.get(nodeId));
        if (address.isEmpty()) {
          onMissingAddress.run();
        }
        return address;
      }

      @Override
      public UUID localNode() {
        return node.cluster().localNode().id();
      }

      @Override
      public boolean encrypted() {
        return false;
      }
    };
  }

  private static Object comparable(Object value) {
    if (value instanceof byte[]) {
      return Arrays.toString((byte[]) value);
    }
    if (value instanceof List) {
      List<Object> values = new ArrayList<>();
      ((List<?>) value).forEach(element -> values.add(comparable(element)));
      return values;
    }
    return value instanceof Text ? value.toString() : value;
  }
}
