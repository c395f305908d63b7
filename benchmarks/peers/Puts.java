import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.ClientCacheConfiguration;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * An application that puts rows with the time at which it puts them, in batches, at a steady rate
 * or as fast as it can.
 *
 * <p>Arguments: addresses of the nodes, number of keys, rows of a batch, number of threads. It reads
 * lines {@code RATE SECONDS} from its input, with a rate of 0 for as fast as it can, and answers each
 * with a line of JSON.
 */
public final class Puts {
  private static final String CACHE = "events";
  private static final long SECOND = 1_000_000_000L;
  private static final int FEATURES = 16;
  private static final double MILLISECOND = 1e6;

  private final IgniteClient client;
  private final ClientCache<Long, BinaryObject> cache;
  private final int keys;
  private final int batch;
  private final int threads;
  private long seed;

  private Puts(IgniteClient client, int keys, int batch, int threads) {
    this.client = client;
    this.keys = keys;
    this.batch = batch;
    this.threads = threads;
    cache =
        client
            .getOrCreateCache(new ClientCacheConfiguration().setName(CACHE).setBackups(1))
            .withKeepBinary();
  }

  public static void main(String[] arguments) throws Exception {
    ClientConfiguration configuration =
        new ClientConfiguration()
            .setAddresses(arguments[0].split(","))
            .setPartitionAwarenessEnabled(true);
    try (IgniteClient client = Ignition.startClient(configuration)) {
      Puts puts =
          new Puts(
              client,
              Integer.parseInt(arguments[1]),
              Integer.parseInt(arguments[2]),
              Integer.parseInt(arguments[3]));
      for (long key = 0; key < puts.keys; key++) {
        puts.cache.put(key, puts.row(key));
      }
      System.out.println("{\"ready\": [\"measure\"]}");
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] parts = line.split(" ");
        System.out.println(
            puts.measure(Double.parseDouble(parts[0]), Double.parseDouble(parts[1])));
      }
    }
  }

  private BinaryObject row(long key) {
    float[] features = new float[FEATURES];
    Arrays.fill(features, key % 7);
    return client
        .binary()
        .builder("Event")
        .setField("put_at", System.currentTimeMillis())
        .setField("features", features)
        .setField("label", (float) (key % 7))
        .build();
  }

  private String measure(double rate, double seconds) throws InterruptedException {
    int most = rate == 0 ? Integer.MAX_VALUE : (int) (rate * seconds / batch);
    long[] latency = new long[rate == 0 ? 1 : most];
    AtomicInteger next = new AtomicInteger();
    AtomicInteger done = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    long firstSeed = seed++ * Integer.MAX_VALUE;
    long begin = System.nanoTime();
    long end = begin + (long) (seconds * SECOND);
    CountDownLatch ended = new CountDownLatch(threads);
    for (int thread = 0; thread < threads; thread++) {
      new Thread(
              () -> {
                try {
                  for (int i = next.getAndIncrement(); i < most; i = next.getAndIncrement()) {
                    long due = rate == 0 ? System.nanoTime() : begin + (long) (i * batch / rate * SECOND);
                    if (rate == 0 && due >= end) {
                      return;
                    }
                    for (long left = due - System.nanoTime();
                        left > 0;
                        left = due - System.nanoTime()) {
                      LockSupport.parkNanos(left);
                    }
                    put(firstSeed + i, failed);
                    done.incrementAndGet();
                    latency[rate == 0 ? 0 : i] = System.nanoTime() - due;
                  }
                } finally {
                  ended.countDown();
                }
              })
          .start();
    }
    ended.await();
    double lasted = (System.nanoTime() - begin) / (double) SECOND;
    Arrays.sort(latency);
    return String.format(
        Locale.ROOT,
        "{\"rows\": %d, \"failed\": %d, \"rows_per_second\": %.1f, \"p99_ms\": %.3f}",
        (long) done.get() * batch,
        failed.get(),
        done.get() * (double) batch / lasted,
        latency[Math.max(0, (int) Math.ceil(0.99 * latency.length) - 1)] / MILLISECOND);
  }

  private void put(long number, AtomicInteger failed) {
    SplittableRandom random = new SplittableRandom(number);
    Map<Long, BinaryObject> rows = new HashMap<>();
    while (rows.size() < batch) {
      long key = random.nextInt(keys);
      rows.put(key, row(key));
    }
    try {
      cache.putAll(rows);
    } catch (RuntimeException error) {
      failed.incrementAndGet();
      System.err.println(error);
    }
  }
}
