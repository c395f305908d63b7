import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.ClientCacheConfiguration;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * An application of a cluster: gets and puts of Ignite's thin client at a steady rate, whatever
 * time each of them takes. So a latency is counted from the moment at which the operation was due,
 * and an operation that waits behind a slow one is slow too.
 *
 * <p>Arguments: addresses of the nodes, number of keys, bytes of a value, number of threads. It
 * reads lines {@code RATE SECONDS} from its input, and answers each with a line of JSON.
 */
public final class OpenLoop {
  private static final String CACHE = "application";
  private static final double MILLISECOND = 1e6;
  private static final long SECOND = 1_000_000_000L;
  private static final long LEAD = 10_000_000L;

  private final ClientCache<Long, byte[]> cache;
  private final int keys;
  private final int bytes;
  private final int threads;
  private long seed;

  private OpenLoop(ClientCache<Long, byte[]> cache, int keys, int bytes, int threads) {
    this.cache = cache;
    this.keys = keys;
    this.bytes = bytes;
    this.threads = threads;
  }

  public static void main(String[] arguments) throws Exception {
    ClientConfiguration configuration =
        new ClientConfiguration()
            .setAddresses(arguments[0].split(","))
            .setPartitionAwarenessEnabled(true);
    try (IgniteClient client = Ignition.startClient(configuration)) {
      ClientCache<Long, byte[]> cache =
          client.getOrCreateCache(
              new ClientCacheConfiguration().setName(CACHE).setBackups(1));
      OpenLoop loop =
          new OpenLoop(
              cache,
              Integer.parseInt(arguments[1]),
              Integer.parseInt(arguments[2]),
              Integer.parseInt(arguments[3]));
      loop.fill();
      System.out.println("{\"ready\": [\"measure\"]}");
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] parts = line.split(" ");
        System.out.println(
            loop.measure(Double.parseDouble(parts[0]), Double.parseDouble(parts[1])));
      }
    }
  }

  private void fill() {
    for (long key = 0; key < keys; key++) {
      cache.put(key, value(key));
    }
  }

  private byte[] value(long key) {
    byte[] value = new byte[bytes];
    Arrays.fill(value, (byte) key);
    return value;
  }

  private String measure(double rate, double seconds) throws InterruptedException {
    int count = (int) (rate * seconds);
    long[] latency = new long[count];
    long[] late = new long[count];
    AtomicInteger next = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    long begin = System.nanoTime() + LEAD;
    long firstSeed = seed;
    seed += count;
    CountDownLatch done = new CountDownLatch(threads);
    for (int thread = 0; thread < threads; thread++) {
      new Thread(
              () -> {
                try {
                  for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
                    long due = begin + (long) (i / rate * SECOND);
                    for (long left = due - System.nanoTime();
                        left > 0;
                        left = due - System.nanoTime()) {
                      LockSupport.parkNanos(left);
                    }
                    late[i] = System.nanoTime() - due;
                    operate(firstSeed + i, failed);
                    latency[i] = System.nanoTime() - due;
                  }
                } finally {
                  done.countDown();
                }
              })
          .start();
    }
    done.await();
    long[] gets = every(latency, 0);
    long[] puts = every(latency, 1);
    Arrays.sort(latency);
    Arrays.sort(late);
    Arrays.sort(gets);
    Arrays.sort(puts);
    return String.format(
        Locale.ROOT,
        "{\"operations\": %d, \"failed\": %d, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\":"
            + " %.4f, \"most_ms\": %.4f, \"get_p99_ms\": %.4f, \"put_p99_ms\": %.4f,"
            + " \"sent_late_p99_ms\": %.4f}",
        count,
        failed.get(),
        part(latency, 0.5),
        part(latency, 0.99),
        part(latency, 0.999),
        part(latency, 1),
        part(gets, 0.99),
        part(puts, 0.99),
        part(late, 0.99));
  }

  /** Gets and puts take turns. */
  private void operate(long number, AtomicInteger failed) {
    long key = new SplittableRandom(number).nextInt(keys);
    try {
      if (number % 2 == 0) {
        cache.get(key);
      } else {
        cache.put(key, value(key));
      }
    } catch (RuntimeException error) {
      failed.incrementAndGet();
      System.err.println(error);
    }
  }

  private static long[] every(long[] values, int first) {
    long[] part = new long[(values.length - first + 1) / 2];
    for (int i = 0; i < part.length; i++) {
      part[i] = values[2 * i + first];
    }
    return part;
  }

  private static double part(long[] sorted, double part) {
    int index = (int) Math.ceil(part * sorted.length) - 1;
    return sorted[Math.max(0, index)] / MILLISECOND;
  }
}
