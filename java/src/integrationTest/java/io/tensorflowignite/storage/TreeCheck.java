package io.tensorflowignite.storage;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.DirectoryState;
import io.tensorflowignite.v1.Extent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import javax.cache.Cache;
import org.apache.ignite.cache.CachePeekMode;

/** Verifies the stored records, after all changes have ended and all garbage has been removed. */
final class TreeCheck {
  private final Storage store;
  private final Set<String> reached = new TreeSet<>();
  private final Set<String> directories = new HashSet<>();
  private final Set<String> extents = new HashSet<>();

  TreeCheck(Storage store) {
    this.store = store;
  }

  /**
   * Every reference has a target, each directory and extent has one reference, and no other records
   * exist.
   */
  void assertConsistent() {
    Deque<String> pending = new ArrayDeque<>();
    pending.add("root");
    while (!pending.isEmpty()) {
      String directory = pending.remove();
      for (DirectoryEntry entry : entries(directory)) {
        String id = entry.getDirectoryId();
        if (!id.isEmpty()) {
          assertTrue("referred to twice: " + id, directories.add(id));
          pending.add(id);
        }
        for (Extent extent : entry.getFile().getExtentsList()) {
          assertTrue("of two files: " + extent, extents.add(extent.getId()));
        }
      }
    }
    Set<String> present = new TreeSet<>();
    for (Cache.Entry<String, byte[]> record : records()) {
      if (record.getKey().startsWith("directory/")) {
        present.add(record.getKey());
      }
    }
    reached.retainAll(present);
    assertEquals(reached, present);
    store
        .pendingTable()
        .all()
        .forEach((id, extent) -> assertTrue("garbage " + id, extent.hasWrite()));
  }

  void assertEmpty() {
    assertConsistent();
    assertTrue(
        reached.toString(), reached.stream().allMatch(key -> key.startsWith("directory/root")));
    assertEquals(Collections.emptySet(), extents);
    assertEquals(Collections.emptyMap(), store.pendingTable().all());
  }

  private Iterable<Cache.Entry<String, byte[]>> records() {
    return store.caches().files().localEntries(CachePeekMode.ALL);
  }

  private List<DirectoryEntry> entries(String directory) {
    try {
      reached.add("directory/" + directory);
      byte[] bytes = store.caches().files().get("directory/" + directory);
      assertTrue("dead reference to directory " + directory, bytes != null);
      DirectoryState state = DirectoryState.parseFrom(bytes);
      List<DirectoryEntry> entries = new ArrayList<>();
      for (int n = 0; n < (1 << state.getLevel()) + state.getSplit(); n++) {
        reached.add("directory/" + directory + "/" + n);
        byte[] bucket = store.caches().files().get("directory/" + directory + "/" + n);
        assertTrue("lost bucket", bucket != null || directory.equals("root"));
        Map<String, DirectoryEntry> found =
            bucket == null
                ? Collections.emptyMap()
                : DirectoryBucket.parseFrom(bucket).getEntriesMap();
        entries.addAll(found.values());
      }
      return entries;
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }
}
