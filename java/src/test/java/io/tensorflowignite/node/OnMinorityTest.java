package io.tensorflowignite.node;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.lease.Minority;
import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.Test;

public class OnMinorityTest {
  private static final Duration LEASE = Duration.ofSeconds(6);

  private static Optional<Minority> minorityFor(int seconds) {
    Node missing = Node.newBuilder().setAddress("h:10820").build();
    return Optional.of(new Minority(Duration.ofSeconds(seconds), 1, List.of(missing, missing)));
  }

  @Test
  public void aNodeEndsOnlyInAMinorityAndLongAfterTheLeasesOfItsTasksIfItShall() {
    OnMinority stop = OnMinority.of("stop-node", "30");
    assertEquals(Optional.empty(), stop.reasonToStop(Optional.empty(), LEASE));
    assertEquals(Optional.empty(), stop.reasonToStop(minorityFor(35), LEASE));
    String reason = stop.reasonToStop(minorityFor(36), LEASE).get();
    assertTrue(reason, reason.contains("only 1 of 3 nodes are here, without h:10820"));
    assertEquals(
        Optional.empty(), OnMinority.of("wait", "0").reasonToStop(minorityFor(9_999), LEASE));
  }

  @Test
  public void aValueThatIsNoneNamesThePropertyAndTheVariable() {
    for (String[] values : new String[][] {{"stop", "30"}, {"stop-node", "-1"}}) {
      assertRefused(() -> OnMinority.of(values[0], values[1]), "TENSORFLOW_IGNITE_ON_MINORITY");
    }
    assertEquals("TENSORFLOW_IGNITE_ROWS_PORT", NodeSettings.variable("rows.port"));
  }
}
