package io.tensorflowignite.lease;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.Test;

public class NodeSetTest {
  @Test
  public void theSameNodesHaveTheSameDigestInAnyOrder() {
    assertEquals(new NodeSet(List.of("a", "b")).digest, new NodeSet(List.of("b", "a")).digest);
    assertNotEquals(new NodeSet(List.of("a", "b")).digest, new NodeSet(List.of("a")).digest);
    assertNotEquals(new NodeSet(List.of("a", "bc")).digest, new NodeSet(List.of("ab", "c")).digest);
    assertNotEquals(NodeSet.NONE.digest, new NodeSet(List.of("")).digest);
  }

  @Test
  public void silentNodesAreLeftOut() {
    NodeSet nodes = new NodeSet(List.of("a", "b", "c"));
    assertEquals(Set.of("a", "c"), nodes.without(List.of("b", "unknown")));
    assertTrue(nodes.isOf(Set.of("c", "b", "a")));
    assertFalse(nodes.isOf(Set.of("a", "b")));
  }
}
