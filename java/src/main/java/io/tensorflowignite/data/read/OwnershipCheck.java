package io.tensorflowignite.data.read;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Checks before a stream reads a partition that this node still owns it, and collects the
 * partitions that have moved.
 */
public final class OwnershipCheck {
  private final List<PartitionOwners> owners;
  private final boolean follow;
  private final List<Integer> moved = new ArrayList<>();

  /**
   * @param owners the owners of the cache that is read, and of each cache that is read with it
   * @param follow whether the reader reads moved partitions from their new owners; otherwise a
   *     moved partition is an error
   */
  public OwnershipCheck(List<PartitionOwners> owners, boolean follow) {
    this.owners = List.copyOf(owners);
    this.follow = follow;
  }

  /** Whether this node is a partition's owner; if not, the partition is skipped. */
  public boolean isPrimaryHere(int partition) {
    for (PartitionOwners each : owners) {
      if (!each.isPrimaryHere(partition)) {
        skip(each, partition, null);
        return false;
      }
    }
    return true;
  }

  /**
   * Skips a partition of which no row was read.
   *
   * @param cause why its scan failed; null: no scan was started
   */
  public void skip(int partition, Throwable cause) {
    skip(owners.get(0), partition, cause);
  }

  private void skip(PartitionOwners of, int partition, Throwable cause) {
    if (!follow) {
      throw of.notPrimaryHere(partition, cause);
    }
    moved.add(partition);
  }

  /** The partitions that were skipped so far. */
  public List<Integer> moved() {
    return Collections.unmodifiableList(moved);
  }
}
