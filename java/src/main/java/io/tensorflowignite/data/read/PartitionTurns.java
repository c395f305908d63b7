package io.tensorflowignite.data.read;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Tells of each partition of a stream, when its turn comes, whether it can still be read here. */
public final class PartitionTurns {
  private final PartitionOwners owners;
  private final boolean follow;
  private final List<Integer> moved = new ArrayList<>();

  /**
   * @param follow whoever reads looks for the new owners of what is left out; otherwise that is an
   *     error
   */
  public PartitionTurns(PartitionOwners owners, boolean follow) {
    this.owners = owners;
    this.follow = follow;
  }

  /** Whether a partition is primary here; if not, it is left out. */
  public boolean comesHere(int partition) {
    if (owners.isPrimaryHere(partition)) {
      return true;
    }
    leaveOut(partition, null);
    return false;
  }

  /**
   * Leaves out a partition of which no row was read.
   *
   * @param cause why it could not be; null: it was not tried
   */
  public void leaveOut(int partition, Throwable cause) {
    if (!follow) {
      throw owners.notPrimaryHere(partition, cause);
    }
    moved.add(partition);
  }

  /** Those left out so far. */
  public List<Integer> moved() {
    return Collections.unmodifiableList(moved);
  }
}
