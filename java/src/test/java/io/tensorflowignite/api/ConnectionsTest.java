package io.tensorflowignite.api;

import static org.junit.Assert.assertEquals;

import io.grpc.Attributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Test;

public class ConnectionsTest {
  private final List<String> ended = new ArrayList<>();

  @Test
  public void whatIsOfAConnectionEndsWithItAndOnlyOnce() {
    Connections.Connection connection = new Connections.Connection();
    connection.atEnd("a", () -> ended.add("a"));
    connection.atEnd("b", () -> ended.add("b"));
    connection.endNow("a");
    connection.endNow("a");
    assertEquals(Collections.singletonList("a"), ended);
    connection.end();
    connection.end();
    assertEquals(Arrays.asList("a", "b"), ended);
  }

  @Test
  public void whatBeginsAfterTheEndEndsAtOnce() {
    Connections.Connection connection = new Connections.Connection();
    connection.end();
    connection.atEnd("late", () -> ended.add("late"));
    assertEquals(Collections.singletonList("late"), ended);
  }

  @Test
  public void aConnectionThatNeverWasReadyEndsQuietly() {
    new Connections().transportTerminated(null);
    new Connections().transportTerminated(Attributes.EMPTY);
  }
}
