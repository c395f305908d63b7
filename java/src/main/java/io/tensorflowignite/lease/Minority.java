package io.tensorflowignite.lease;

import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** This node is on the smaller side of a cut network, or most other nodes were killed. */
public final class Minority {
  private static final int NAMED = 2;

  /** The time since no majority of the nodes is here. */
  public final Duration lasting;

  /** What this means, and what to do, for people. */
  public final String text;

  /**
   * @param lasting the time since no majority is here
   * @param here the number of nodes that are here
   * @param missing the missing nodes, which count for the majority too
   */
  public Minority(Duration lasting, int here, List<Node> missing) {
    this.lasting = lasting;
    this.text = text(here, missing);
  }

  private static String text(int here, List<Node> missing) {
    String more = missing.size() > NAMED ? " and " + (missing.size() - NAMED) + " more" : "";
    return String.format(
        "only %d of %d nodes are here, without %s%s. Jobs need a majority. Start those, or restart"
            + " these: tensorflow-ignite doctor",
        here,
        here + missing.size(),
        missing.stream().limit(NAMED).map(Node::getAddress).collect(Collectors.joining(", ")),
        more);
  }
}
