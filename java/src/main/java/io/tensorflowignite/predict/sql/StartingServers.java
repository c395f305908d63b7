package io.tensorflowignite.predict.sql;

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * How long queries wait for servers whose service does not run yet: for each server, until {@value
 * #LIMIT_S} s after the first query that had to wait for it. Later queries do not wait for it.
 */
final class StartingServers {
  static final long LIMIT_S = 60;

  private final Map<String, Long> met = new ConcurrentHashMap<>();

  /**
   * Whether a query still waits for all of these servers.
   *
   * @param nanos the time now, as of System.nanoTime
   */
  boolean areAwaited(Collection<String> servers, long nanos) {
    boolean all = true;
    for (String server : servers) {
      long first = met.computeIfAbsent(server, added -> nanos);
      all &= nanos - first < TimeUnit.SECONDS.toNanos(LIMIT_S);
    }
    return all;
  }

  /** All servers run the service. */
  void clear() {
    met.clear();
  }
}
