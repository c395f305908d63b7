package io.tensorflowignite.data.loss;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.CacheLoss;
import io.tensorflowignite.v1.Node;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.Test;

/**
 * Promise (rows): Lost partitions on disk are reset only when every last complete copy is back with
 * rows.
 */
public class RestoredCopiesTest {
  private static final CacheLoss LOSS =
      CacheLoss.newBuilder()
          .setDeploymentId("d1")
          .addAllPartitions(List.of(1, 5, 7))
          .addAllOwners(List.of("a", "b"))
          .build();

  /** Nodes that have rows of the lost partitions of the cache on their disks. */
  private static List<Node> restored(String... consistentIds) {
    return Arrays.stream(consistentIds)
        .map(id -> Node.newBuilder().setConsistentId(id).addRestoredCaches("d1").build())
        .collect(Collectors.toList());
  }

  @Test
  public void partitionsAreBackWhenEveryOwnerIsBackWithRows() {
    assertTrue(RestoredCopies.areBack(LOSS, List.of(1, 7), restored("a", "b", "c")));
    assertFalse(RestoredCopies.areBack(LOSS, List.of(1, 7), restored("a", "c")));
    // A node that is back without rows is no owner.
    Node empty = Node.newBuilder().setConsistentId("b").build();
    Node other = empty.toBuilder().addRestoredCaches("another deployment").build();
    for (Node node : List.of(empty, other)) {
      List<Node> live = restored("a", "c");
      live.add(node);
      assertFalse(RestoredCopies.areBack(LOSS, List.of(1), live));
    }
  }

  @Test
  public void partitionsOfWhichNoOwnerIsKnownAreNotReset() {
    assertFalse(RestoredCopies.areBack(LOSS, List.of(1, 8), restored("a", "b")));
    CacheLoss unknown = LOSS.toBuilder().clearOwners().build();
    assertFalse(RestoredCopies.areBack(unknown, List.of(1), restored("a", "b")));
  }
}
