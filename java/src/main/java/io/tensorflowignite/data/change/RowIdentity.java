package io.tensorflowignite.data.change;

import com.google.common.hash.HashCode;
import com.google.common.hash.HashFunction;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.ignite.LocalCache;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;

/**
 * Two numbers that identify a row by its key, whatever the key's type: 112 bits of a hash, and the
 * partition in the lowest 16 bits. Two of a billion keys have the same one with a probability of
 * 10⁻¹⁶. Not thread-safe.
 */
public final class RowIdentity {
  private static final String HIGH = "_identity_high";
  private static final String LOW = "_identity_low";

  private static final int PARTITION_BITS = 16;

  private static final HashFunction HASH = Hashing.murmur3_128();

  private static final int OF_KEY = -1;

  /** In Ignite's binary format: the first byte of an object, and where its type is over. */
  private static final byte OBJECT = 103;

  private static final int AFTER_TYPE = 16;

  private final LocalCache cache;
  private int partition = OF_KEY;
  private Object last;
  private long high;
  private long low;

  /**
   * @param cache kept binary
   */
  public RowIdentity(IgniteCache<Object, Object> cache) {
    this(new LocalCache(cache));
  }

  RowIdentity(LocalCache cache) {
    this.cache = cache;
  }

  /** The columns of a row, and after them those that identify it. */
  public List<CacheColumn> addTo(List<CacheColumn> columns) {
    List<CacheColumn> all = new ArrayList<>(columns);
    all.add(column(HIGH, (key, value) -> high(key)));
    all.add(column(LOW, (key, value) -> low(key)));
    return all;
  }

  private static CacheColumn column(String name, RowField field) {
    return CacheColumn.of(
        name, ColumnTypes.ofAnyName(Long.class.getName()), Long.class.getName(), () -> field);
  }

  /** Sets the partition of the following rows; without this call, each key determines it. */
  public void partition(int number) {
    partition = number;
  }

  /**
   * 64 bits of a hash of the values of a key, which never change: the type of an object does not
   * count, since each new table has a new type of keys.
   */
  public long choice(Object key) {
    if (key instanceof BinaryObject) {
      byte[] bytes = cache.keyBytes(key);
      if (bytes[0] == OBJECT) {
        return HASH.hashBytes(bytes, AFTER_TYPE, bytes.length - AFTER_TYPE).asLong();
      }
    }
    return high(key);
  }

  /** The first of the two numbers: 64 bits of a hash of the key alone. */
  long high(Object key) {
    identify(key);
    return high;
  }

  private long low(Object key) {
    identify(key);
    return low << PARTITION_BITS | partitionOf(key);
  }

  /** Adds the identity of a key: 16 bytes. */
  void put(Object key, ByteBuffer target) {
    target.putLong(high(key)).putLong(low(key));
  }

  private void identify(Object key) {
    if (key == last) {
      return;
    }
    ByteBuffer hash = ByteBuffer.wrap(hash(key).asBytes());
    high = hash.getLong();
    low = hash.getLong();
    last = key;
  }

  private int partitionOf(Object key) {
    return partition == OF_KEY ? cache.partition(key) : partition;
  }

  private HashCode hash(Object key) {
    Hasher hasher = HASH.newHasher();
    if (key instanceof Long) {
      return hasher.putByte((byte) 1).putLong((Long) key).hash();
    }
    if (key instanceof Integer) {
      return hasher.putByte((byte) 2).putInt((Integer) key).hash();
    }
    if (key instanceof String) {
      return hasher.putByte((byte) 3).putString((String) key, StandardCharsets.UTF_16LE).hash();
    }
    if (key instanceof UUID) {
      UUID uuid = (UUID) key;
      return hasher
          .putByte((byte) 4)
          .putLong(uuid.getMostSignificantBits())
          .putLong(uuid.getLeastSignificantBits())
          .hash();
    }
    return hasher.putByte((byte) 5).putBytes(cache.keyBytes(key)).hash();
  }
}
