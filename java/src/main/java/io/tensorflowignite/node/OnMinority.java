package io.tensorflowignite.node;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.lease.Minority;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/** What this node does while it is in the minority. */
final class OnMinority {
  static final String NAME = "onMinority";
  static final String SECONDS = "onMinority.seconds";
  static final String WAIT = "wait";
  private static final String STOP_NODE = "stop-node";
  private static final Pattern NUMBER = Pattern.compile("\\d{1,9}");

  /** Empty: the node waits. */
  private final Optional<Duration> stopAfter;

  private OnMinority(Optional<Duration> stopAfter) {
    this.stopAfter = stopAfter;
  }

  static OnMinority of(String reaction, String seconds) {
    if (!reaction.equals(WAIT) && !reaction.equals(STOP_NODE)) {
      throw invalid(NAME, reaction, WAIT + " or " + STOP_NODE);
    }
    if (!NUMBER.matcher(seconds).matches()) {
      throw invalid(SECONDS, seconds, "a number of seconds, 0 or more");
    }
    return new OnMinority(
        reaction.equals(STOP_NODE)
            ? Optional.of(Duration.ofSeconds(Long.parseLong(seconds)))
            : Optional.empty());
  }

  private static TensorFlowIgniteException invalid(String name, String value, String rule) {
    return invalidRequest(
        "tensorflow.ignite.%s is '%s'. It is %s. Set the system property, or the environment"
            + " variable %s, of this node to one of these values.",
        name, value, rule, NodeSettings.variable(name));
  }

  /**
   * The reason to end this node; empty while it shall run.
   *
   * @param lease the time after which no attempt runs in a minority any more
   */
  Optional<String> reasonToStop(Optional<Minority> minority, Duration lease) {
    return minority
        .filter(
            now ->
                stopAfter.map(after -> now.lasting.compareTo(lease.plus(after)) >= 0).orElse(false))
        .map(
            now ->
                String.format(
                    "%s (%d s in the minority, tensorflow.ignite.%s=%s)",
                    now.text, now.lasting.toSeconds(), NAME, STOP_NODE));
  }
}
