package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.transactions.Transaction;

/**
 * Which caches are being loaded with keys that the load counts: two such loads at once would count
 * the same keys. The rows are beside the schemas of loads, by names that no cache has.
 */
public final class LoadTable {
  private static final String KEY = "\u0000load/";

  private final Ignite ignite;
  private final Rows rows;

  public LoadTable(Ignite ignite) {
    this.ignite = ignite;
    this.rows = new Rows(ignite, SystemCache.SCHEMAS);
  }

  /**
   * Begins a load by this node, unless a node of the cluster loads the cache.
   *
   * @param load identifies the load
   * @return whether it has begun
   */
  public boolean begin(String cache, UUID load) {
    String row = ignite.cluster().localNode().id() + " " + load;
    return Rows.repeated(
        () -> {
          try (Transaction transaction = rows.begin()) {
            Object other = rows.get(KEY + cache);
            String text = other instanceof byte[] ? text((byte[]) other) : "";
            // A transaction that Ignite has repeated may find its own row.
            if (!text.equals(row) && isAlive(text)) {
              return false;
            }
            byte[] bytes = row.getBytes(StandardCharsets.UTF_8);
            rows.put(Purpose.ENTRY, KEY + cache, bytes, "the load of cache " + cache);
            transaction.commit();
            return true;
          }
        });
  }

  /** Ends the load that has begun. */
  public void end(String cache) {
    Rows.repeated(() -> rows.cache().remove(KEY + cache));
  }

  private boolean isAlive(String row) {
    try {
      return ignite.cluster().node(UUID.fromString(row.split(" ")[0])) != null;
    } catch (IllegalArgumentException unreadable) {
      return false;
    }
  }

  private static String text(byte[] row) {
    return new String(row, StandardCharsets.UTF_8);
  }
}
