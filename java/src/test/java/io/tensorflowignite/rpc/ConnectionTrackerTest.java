package io.tensorflowignite.rpc;

import static org.junit.Assert.assertEquals;

import io.grpc.Attributes;
import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

public class ConnectionTrackerTest {
  private final List<String> ended = new ArrayList<>();

  @Test
  public void actionsRunOnceAtTheEndOfAConnectionAndAfterItAtOnce() {
    ConnectionTracker.Connection connection = new ConnectionTracker.Connection();
    connection.onEnd("a", () -> ended.add("a"));
    connection.onEnd("b", () -> ended.add("b"));
    connection.runNow("a");
    connection.runNow("a");
    assertEquals(List.of("a"), ended);
    connection.end();
    connection.end();
    connection.onEnd("late", () -> ended.add("late"));
    assertEquals(List.of("a", "b", "late"), ended);
  }

  @Test
  public void aConnectionThatNeverWasReadyEndsQuietly() {
    new ConnectionTracker().transportTerminated(null);
    new ConnectionTracker().transportTerminated(Attributes.EMPTY);
  }
}
