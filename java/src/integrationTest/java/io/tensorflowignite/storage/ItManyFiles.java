package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_CREATE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Full;
import io.tensorflowignite.storage.tree.ManyFiles;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.cache.Cache;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMetrics;
import org.apache.ignite.cache.CachePeekMode;
import org.junit.Test;
import org.junit.experimental.categories.Category;

@Category(Full.class)
public class ItManyFiles extends StorageTest {
  private static final int FILES = 100_000;

  /** A new file may split a bucket of its directory. */
  private static final int RECORDS_OF_A_SPLIT = 4;

  private static final int MOST_RECORD_BYTES = 64 << 10;

  @Test
  public void aNewFileReadsAndWritesAsManyRecordsInALargeDirectoryAsInASmallOne() {
    makeDirectory("/many");
    makeDirectory("/few");
    ManyFiles.layOut(cluster.nodes.get(0), cluster.store(0), "/many", names(0, FILES));
    IgniteCache<String, byte[]> records = cluster.store(0).caches().files();
    records.enableStatistics(true);
    long few = records("/few/" + name(FILES));
    long many = records("/many/" + name(FILES));
    records.enableStatistics(false);

    assertTrue(few + " and " + many + " records", many > 0 && many <= few + RECORDS_OF_A_SPLIT);
    for (Cache.Entry<String, byte[]> record : records.localEntries(CachePeekMode.ALL)) {
      int bytes = record.getValue().length;
      assertTrue(record.getKey() + ": " + bytes + " bytes", bytes < MOST_RECORD_BYTES);
    }
    List<String> names = names("/many");
    for (int i = 0; i <= FILES; i++) {
      assertEquals(name(i), names.get(i));
    }
  }

  @Test
  public void aListingMissesNothingWhileItsDirectoryGrows() throws Exception {
    makeDirectory("/many");

    AtomicInteger made = new AtomicInteger();
    AtomicInteger listings = new AtomicInteger();
    Race race = new Race();
    race.until(
        () -> {
          for (int i = 0; i < 50; i++) {
            int first = 50 * i;
            ManyFiles.put(
                cluster.nodes.get(0), cluster.store(0), "/many", names(first, first + 50));
            made.set(first + 50);
          }
        });
    race.repeat(
        () -> {
          int least = made.get();
          List<String> names = new ArrayList<>();
          cluster
              .store(2)
              .tree()
              .list("/many", files -> files.forEach(file -> names.add(file.getPath())));
          for (int i = 0; i < least; i++) {
            assertEquals(name(i), names.get(i));
          }
          listings.incrementAndGet();
        });
    race.run();
    assertTrue(listings + " listings", listings.get() > 3);
  }

  /** Makes a file, and returns the number of records that all nodes have read and written. */
  private long records(String path) {
    long before = accesses();
    write(path, "", WRITE_MODE_CREATE);
    return accesses() - before;
  }

  private static long accesses() {
    long accesses = 0;
    for (Storage store : cluster.stores) {
      CacheMetrics metrics = store.caches().files().localMetrics();
      accesses += metrics.getCacheGets() + metrics.getCachePuts();
    }
    return accesses;
  }

  private static List<String> names(int from, int to) {
    return IntStream.range(from, to).mapToObj(ItManyFiles::name).collect(Collectors.toList());
  }

  private static String name(int i) {
    return String.format("file-%06d", i);
  }
}
