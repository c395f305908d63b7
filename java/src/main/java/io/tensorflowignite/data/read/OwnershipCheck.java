package io.tensorflowignite.data.read;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Checks before a stream reads a partition that this node still owns it, and collects the
 * partitions that have moved.
 */
public final class OwnershipCheck {
  private final PartitionOwners owners;
  private final boolean follow;
  private final List<Integer> moved = new ArrayList<>();

  /**
   * @param follow the reader reads moved partitions from their new owners; otherwise a moved
   *     partition is an error
   */
  public OwnershipCheck(PartitionOwners owners, boolean follow) {
    this.owners = owners;
    this.follow = follow;
  }

  /** Whether this node is a partition's owner; if not, the partition is skipped. */
  public boolean isPrimaryHere(int partition) {
    if (owners.isPrimaryHere(partition)) {
      return true;
    }
    skip(partition, null);
    return false;
  }

  /**
   * Skips a partition of which no row was read.
   *
   * @param cause why its scan failed; null: no scan was started
   */
  public void skip(int partition, Throwable cause) {
    if (!follow) {
      throw owners.notPrimaryHere(partition, cause);
    }
    moved.add(partition);
  }

  /** The partitions that were skipped so far. */
  public List<Integer> moved() {
    return Collections.unmodifiableList(moved);
  }
}
