package io.tensorflowignite.job.decide;

import java.util.Comparator;
import java.util.Objects;

/** A limited resource of a node: room for tasks, or GPUs. */
public final class Resource implements Comparable<Resource> {
  private static final Comparator<Resource> ORDER =
      Comparator.comparing((Resource resource) -> resource.node)
          .thenComparing(resource -> resource.isGpu);

  public final String node;
  public final boolean isGpu;

  private Resource(String node, boolean isGpu) {
    this.node = node;
    this.isGpu = isGpu;
  }

  /** Room for tasks on the node with this id. */
  public static Resource tasks(String node) {
    return new Resource(node, false);
  }

  /** GPUs of the node with this id. */
  public static Resource gpus(String node) {
    return new Resource(node, true);
  }

  /** The noun for messages. */
  String noun() {
    return isGpu ? "GPUs" : "tasks";
  }

  @Override
  public int compareTo(Resource other) {
    return ORDER.compare(this, other);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Resource && compareTo((Resource) other) == 0;
  }

  @Override
  public int hashCode() {
    return Objects.hash(node, isGpu);
  }

  @Override
  public String toString() {
    return noun() + " of " + node;
  }
}
