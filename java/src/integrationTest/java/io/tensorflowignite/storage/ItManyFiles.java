package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_CREATE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Full;
import io.tensorflowignite.storage.tree.ManyFiles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.Test;
import org.junit.experimental.categories.Category;

@Category(Full.class)
public class ItManyFiles extends StorageTest {
  private static final int FILES = 100_000;
  private static final int ROUNDS = 30;

  @Test
  public void aDirectoryOfManyFilesIsAsFastAsASmallOne() {
    makeDirectory("/many");
    makeDirectory("/few");
    ManyFiles.layOut(cluster.nodes.get(0), cluster.store(0), "/many", names(0, FILES));
    List<Long> many = new ArrayList<>();
    List<Long> few = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      few.add(made("/few/" + name(FILES + round)));
      many.add(made("/many/" + name(FILES + round)));
    }
    long begun = System.nanoTime();
    List<String> names = names("/many");
    long listing = (System.nanoTime() - begun) / 1_000_000;
    for (int i = 0; i < FILES + ROUNDS; i++) {
      assertEquals(name(i), names.get(i));
    }
    String times =
        String.format(
            "µs to make a file among few: %d, among many: %d; ms to list many: %d",
            median(few), median(many), listing);
    System.out.println(times);
    assertTrue(times, median(many) < 3 * median(few) + 2_000);
    assertTrue(times, listing < 10_000);
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

  private long made(String path) {
    long begun = System.nanoTime();
    write(path, "", WRITE_MODE_CREATE);
    return (System.nanoTime() - begun) / 1_000;
  }

  private static long median(List<Long> times) {
    Collections.sort(times);
    return times.get(times.size() / 2);
  }

  private static List<String> names(int from, int to) {
    return IntStream.range(from, to).mapToObj(ItManyFiles::name).collect(Collectors.toList());
  }

  private static String name(int i) {
    return String.format("file-%06d", i);
  }
}
