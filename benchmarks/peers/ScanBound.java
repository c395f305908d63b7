import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * What Ignite's public API allows on this machine, without any of our code: local scans by
 * partition, one thread for each processor, the values copied into a mapped file in shared memory;
 * and as many threads that make objects of one row and hand them to a data streamer. It is driven
 * as answer.py says.
 *
 * <p>Arguments: number of large rows, number of small rows, first discovery port.
 */
public final class ScanBound {
  private static final int PARTITIONS = 16;
  private static final int THREADS = Runtime.getRuntime().availableProcessors();
  private static final int LARGE_BYTES = 1 << 20;
  private static final int SMALL_BYTES = 784;
  private static final int LARGE_PAGE = 8;
  private static final int SMALL_PAGE = 1024;
  private static final int LARGE_BUFFER = 8;
  private static final long MAPPED_BYTES = 64L << 20;
  private static final int DISCOVERY_PORTS = 10;
  private static final long REGION_BYTES = 4L << 30;
  private static final String WRITTEN = "written";
  private static final int WRITTEN_ROWS = 100;

  /** Copies one value; returns the number of its bytes of data. */
  private interface Copy {
    int copy(Object value, MappedByteBuffer target);
  }

  private final Ignite ignite;
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
  private final byte[] row = largeRow();

  private ScanBound(Ignite ignite) {
    this.ignite = ignite;
  }

  public static void main(String[] arguments) throws Exception {
    int large = Integer.parseInt(arguments[0]);
    int small = Integer.parseInt(arguments[1]);
    Path work = Files.createTempDirectory("scan-bound");
    try (Ignite ignite = Ignition.start(configuration(work, Integer.parseInt(arguments[2])))) {
      ScanBound bound = new ScanBound(ignite);
      bound.fillLarge(large);
      bound.fillSmall(small);
      bound.answer();
      bound.threads.shutdown();
    }
    delete(work);
  }

  private static IgniteConfiguration configuration(Path work, int port) {
    TcpDiscoveryVmIpFinder itself = new TcpDiscoveryVmIpFinder();
    itself.setAddresses(List.of("127.0.0.1:" + port + ".." + (port + DISCOVERY_PORTS - 1)));
    DataStorageConfiguration storage = new DataStorageConfiguration();
    storage.getDefaultDataRegionConfiguration().setMaxSize(REGION_BYTES);
    return new IgniteConfiguration()
        .setLocalHost("127.0.0.1")
        .setWorkDirectory(work.toString())
        .setDataStorageConfiguration(storage)
        .setDiscoverySpi(
            new TcpDiscoverySpi()
                .setLocalPort(port)
                .setLocalPortRange(DISCOVERY_PORTS - 1)
                .setIpFinder(itself));
  }

  private void fillLarge(int rows) {
    ignite.createCache(cache("large"));
    try (IgniteDataStreamer<Long, byte[]> streamer = ignite.dataStreamer("large")) {
      size(streamer);
      for (long i = 0; i < rows; i++) {
        streamer.addData(i, row.clone());
      }
    }
  }

  private static byte[] largeRow() {
    byte[] row = new byte[LARGE_BYTES];
    for (int i = 0; i < LARGE_BYTES; i++) {
      row[i] = (byte) ((i * (int) 2_654_435_761L) >>> 13);
    }
    return row;
  }

  /** Ignite's own sizes count rows, thousands of them. */
  private static void size(IgniteDataStreamer<?, ?> streamer) {
    streamer.perNodeBufferSize(LARGE_BUFFER);
    streamer.perThreadBufferSize(LARGE_BUFFER);
    streamer.perNodeParallelOperations(LARGE_BUFFER);
  }

  private void fillSmall(int rows) {
    ignite.createCache(cache("small"));
    try (IgniteDataStreamer<Long, BinaryObject> streamer = ignite.dataStreamer("small")) {
      streamer.keepBinary(true);
      for (int i = 0; i < rows; i++) {
        byte[] pixels = new byte[SMALL_BYTES];
        for (int j = 0; j < SMALL_BYTES; j++) {
          pixels[j] = (byte) (i * 31 + j * 7);
        }
        streamer.addData(
            (long) i,
            ignite
                .binary()
                .builder("Digit")
                .setField("pixels", pixels)
                .setField("label", i % 10)
                .build());
      }
    }
  }

  private static CacheConfiguration<Long, Object> cache(String name) {
    return new CacheConfiguration<Long, Object>(name)
        .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS));
  }

  private void answer() throws Exception {
    System.out.println("{\"ready\": [\"bound_1mb\", \"bound_small\", \"bound_load_1mb\"]}");
    BufferedReader asked =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = asked.readLine(); line != null; line = asked.readLine()) {
      long start = System.nanoTime();
      long[] found = pass(line);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf(
          "{\"seconds\": %.9f, \"rows\": %d, \"bytes\": %d, \"sum\": null}%n",
          seconds, found[0], found[1]);
      ignite.destroyCache(WRITTEN);
    }
  }

  /** Rows and bytes. */
  private long[] pass(String name) throws Exception {
    switch (name) {
      case "bound_1mb":
        return scan("large", LARGE_PAGE, (value, target) -> put((byte[]) value, target));
      case "bound_small":
        return scan("small", SMALL_PAGE, ScanBound::putDigit);
      default:
        return load();
    }
  }

  private long[] load() throws Exception {
    ignite.createCache(cache(WRITTEN));
    try (IgniteDataStreamer<Long, BinaryObject> streamer = ignite.dataStreamer(WRITTEN)) {
      streamer.keepBinary(true);
      size(streamer);
      List<Callable<Void>> shares = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        int first = thread;
        shares.add(
            () -> {
              for (long i = first; i < WRITTEN_ROWS; i += THREADS) {
                streamer.addData(i, ignite.binary().builder("Row").setField("data", row).build());
              }
              return null;
            });
      }
      for (Future<Void> share : threads.invokeAll(shares)) {
        share.get();
      }
    }
    return new long[] {WRITTEN_ROWS, (long) WRITTEN_ROWS * LARGE_BYTES};
  }

  /** Rows and bytes of all partitions. */
  private long[] scan(String name, int page, Copy copy) throws Exception {
    IgniteCache<Long, Object> cache = ignite.<Long, Object>cache(name).withKeepBinary();
    List<Callable<long[]>> shares = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      int first = thread;
      shares.add(() -> scanShare(cache, page, copy, first));
    }
    long[] sum = new long[2];
    for (Future<long[]> share : threads.invokeAll(shares)) {
      sum[0] += share.get()[0];
      sum[1] += share.get()[1];
    }
    return sum;
  }

  private static long[] scanShare(IgniteCache<Long, Object> cache, int page, Copy copy, int first)
      throws IOException {
    Path file = Files.createTempFile(Path.of("/dev/shm"), "tensorflow-ignite-bench-", "");
    long[] sum = new long[2];
    try (RandomAccessFile shared = new RandomAccessFile(file.toFile(), "rw")) {
      shared.setLength(MAPPED_BYTES);
      MappedByteBuffer target =
          shared.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, MAPPED_BYTES);
      for (int partition = first; partition < PARTITIONS; partition += THREADS) {
        ScanQuery<Long, Object> query = new ScanQuery<>(partition);
        query.setLocal(true);
        query.setPageSize(page);
        try (QueryCursor<Cache.Entry<Long, Object>> rows = cache.query(query)) {
          for (Cache.Entry<Long, Object> row : rows) {
            sum[0]++;
            sum[1] += copy.copy(row.getValue(), target);
          }
        }
      }
    } finally {
      Files.delete(file);
    }
    return sum;
  }

  private static int putDigit(Object value, MappedByteBuffer target) {
    BinaryObject digit = (BinaryObject) value;
    int bytes = put(digit.<byte[]>field("pixels"), target);
    target.putInt(digit.<Integer>field("label"));
    return bytes;
  }

  private static int put(byte[] bytes, MappedByteBuffer target) {
    if (target.remaining() < bytes.length + Integer.BYTES) {
      target.clear();
    }
    target.put(bytes);
    return bytes.length;
  }

  private static void delete(Path directory) throws IOException {
    try (java.util.stream.Stream<Path> files = Files.walk(directory)) {
      for (Path file :
          (Iterable<Path>) files.sorted(java.util.Comparator.reverseOrder())::iterator) {
        Files.delete(file);
      }
    }
  }
}
