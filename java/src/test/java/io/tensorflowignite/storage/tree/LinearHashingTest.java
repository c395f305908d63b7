package io.tensorflowignite.storage.tree;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.DirectoryState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.Test;

public class LinearHashingTest {
  private static final int MOST = 8;

  private final List<Set<String>> buckets = new ArrayList<>();
  private LinearHashing hashing = new LinearHashing(0, 0);

  @Test
  public void everyNameIsFoundAfterAnyNumberOfSplits() {
    buckets.add(new HashSet<>());
    Random random = new Random(7);
    Set<String> names = new HashSet<>();
    for (int i = 0; i < 3_000; i++) {
      String name =
          random.nextInt(4) == 0 ? "model.ckpt-" + i : Long.toHexString(random.nextLong());
      names.add(name);
      Set<String> bucket = buckets.get(hashing.bucketOf(name));
      bucket.add(name);
      if (bucket.size() > MOST) {
        split();
      }
      if (i % 50 == 0 || hashing.buckets() < 10) {
        assertAllFound(names);
      }
    }
    assertAllFound(names);
    assertTrue("" + buckets.size(), buckets.size() > 3_000 / MOST);
    assertTrue("" + buckets.size(), buckets.size() < 4 * 3_000 / MOST);
  }

  @Test
  public void theNumberOfBucketsGrowsOneByOneAndIsKeptInTheState() {
    LinearHashing grown = new LinearHashing(0, 0);
    for (int buckets = 1; buckets < 1_000; buckets++) {
      assertEquals(buckets, grown.buckets());
      assertTrue(grown.next() < buckets);
      assertEquals(
          buckets, LinearHashing.of(grown.into(DirectoryState.getDefaultInstance())).buckets());
      grown = grown.grown();
    }
  }

  @Test
  public void aSplitBucketLosesItsNamesToOneNewBucketAndNoOtherMoves() {
    LinearHashing before = new LinearHashing(0, 0);
    for (int i = 0; i < 100; i++) {
      LinearHashing after = before.grown();
      for (int n = 0; n < 500; n++) {
        String name = "name " + n;
        int old = before.bucketOf(name);
        int now = after.bucketOf(name);
        assertTrue(now == old || (old == before.next() && now == before.buckets()));
      }
      before = after;
    }
  }

  @Test
  public void hashesNeverChange() {
    assertEquals(0, LinearHashing.hash(""));
    assertEquals(LinearHashing.hash("ä"), LinearHashing.hash("\u00e4"));
    assertEquals(264_653_773, LinearHashing.hash("checkpoint"));
  }

  private void split() {
    int number = hashing.next();
    hashing = hashing.grown();
    Set<String> whole = buckets.get(number);
    Set<String> goes = new HashSet<>();
    int level = hashing.levelOf(number);
    whole.removeIf(
        name -> LinearHashing.lowest(LinearHashing.hash(name), level) != number && goes.add(name));
    buckets.add(goes);
  }

  private void assertAllFound(Set<String> names) {
    assertEquals(buckets.size(), hashing.buckets());
    for (String name : names) {
      assertTrue(name, buckets.get(hashing.bucketOf(name)).contains(name));
    }
    for (int number = 0; number < buckets.size(); number++) {
      for (String name : buckets.get(number)) {
        int bits = LinearHashing.lowest(LinearHashing.hash(name), hashing.levelOf(number));
        assertEquals(name, number, bits);
      }
    }
  }
}
