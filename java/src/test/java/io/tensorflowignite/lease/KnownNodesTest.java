package io.tensorflowignite.lease;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.Node;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.Test;

/** Promise (nodes): A cluster that shrinks in order has no minority. */
public class KnownNodesTest {
  private long seconds = 1_000;
  private final Set<String> leftInOrder = new HashSet<>();
  private final KnownNodes nodes = new KnownNodes(() -> TimeUnit.SECONDS.toNanos(seconds));

  /** Observes these nodes, in the order in which they joined, now and for some seconds. */
  private Optional<Minority> observe(int lasting, String... ids) {
    Optional<Minority> minority = Optional.empty();
    for (int second = 0; second <= lasting; second++) {
      minority =
          nodes.observe(
              Arrays.stream(ids).map(KnownNodesTest::node).collect(Collectors.toList()),
              leftInOrder);
      seconds++;
    }
    return minority;
  }

  private static Node node(String id) {
    return Node.newBuilder()
        .setId(id)
        .setConsistentId(id.substring(0, 1))
        .setOrder(id.charAt(0))
        .setAddress(id + ":10820")
        .build();
  }

  private void assertMinority(String expected, Optional<Minority> minority) {
    assertTrue(minority.isPresent());
    assertTrue(minority.get().text, minority.get().text.startsWith(expected));
  }

  @Test
  public void theSmallerSideOfACutIsAMinorityAndTheLargerIsNot() {
    observe(0, "a1", "b1", "c1");
    assertMinority(
        "only 1 of 3 nodes are here, without a1:10820, b1:10820. Jobs need", observe(3, "c1"));
    KnownNodesTest larger = new KnownNodesTest();
    larger.observe(0, "a1", "b1", "c1");
    assertEquals(Optional.empty(), larger.observe(3, "a1", "b1"));
  }

  @Test
  public void halfIsAMinorityUnlessTheOldestIsThere() {
    observe(0, "a1", "b1");
    assertMinority("only 1 of 2 nodes are here, without a1:10820.", observe(3, "b1"));
    KnownNodesTest oldest = new KnownNodesTest();
    oldest.observe(0, "a1", "b1", "c1", "d1");
    assertEquals(Optional.empty(), oldest.observe(3, "a1", "b1"));
  }

  @Test
  public void nodesThatAreLostOneAfterTheOtherBelongToOneCut() {
    observe(0, "a1", "b1", "c1", "d1", "e1");
    assertEquals(Optional.empty(), observe(12, "c1", "d1", "e1", "a1"));
    assertEquals(Optional.empty(), observe(12, "c1", "d1", "e1"));
    assertMinority("only 2 of 5 nodes are here, without", observe(12, "d1", "e1"));
  }

  @Test
  public void aClusterThatShrinksInOrderHasNoMinority() {
    observe(0, "a1", "b1", "c1");
    assertEquals("its event comes a moment later", Optional.empty(), observe(1, "c1"));
    leftInOrder.addAll(Set.of("a1", "b1"));
    assertEquals(Optional.empty(), observe(600, "c1"));
  }

  @Test
  public void aMajorityThatGoesOnForAMinuteForgetsTheOthers() {
    observe(0, "a1", "b1", "c1");
    assertEquals(Optional.empty(), observe(61, "b1", "c1"));
    assertEquals("b is the oldest of two", Optional.empty(), observe(61, "b1"));
    assertEquals(Optional.empty(), observe(61, "b1", "c2"));
  }

  @Test
  public void aMinorityStaysOneUntilTheOthersAreBack() {
    observe(0, "a1", "b1", "c1");
    assertEquals(600, observe(600, "c1").get().lasting.toSeconds());
    assertEquals(Optional.empty(), observe(0, "b2", "c1"));
  }
}
