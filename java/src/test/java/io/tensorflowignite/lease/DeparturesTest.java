package io.tensorflowignite.lease;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.v1.LostNode;
import io.tensorflowignite.v1.Node;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.Test;

public class DeparturesTest {
  private final Departures departures = new Departures();

  private void observe(String... ids) {
    departures.observe(
        Arrays.stream(ids)
            .map(
                id ->
                    Node.newBuilder()
                        .setId(id)
                        .setConsistentId(id.substring(0, 1))
                        .setAddress(id + ":10820")
                        .build())
            .collect(Collectors.toList()));
  }

  private List<String> lost() {
    return departures.lost().stream().map(LostNode::getAddress).collect(Collectors.toList());
  }

  @Test
  public void aNodeThatSaysNothingIsLostUntilItIsBack() {
    observe("a1", "b1", "c1");
    observe("a1", "b1");
    assertEquals(List.of("c1:10820"), lost());
    observe("a1");
    assertEquals(List.of("c1:10820", "b1:10820"), lost());
    observe("a1", "c2");
    assertEquals(List.of("b1:10820"), lost());
  }

  @Test
  public void aNodeThatIsStoppedIsNotLostThoughItsEventComesLater() {
    observe("a1", "b1");
    observe("a1");
    departures.leftInOrder("b1");
    assertEquals(List.of(), lost());
    assertEquals(Set.of("b1"), departures.inOrder());
  }
}
