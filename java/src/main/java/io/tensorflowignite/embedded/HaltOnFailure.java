package io.tensorflowignite.embedded;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;
import org.apache.ignite.failure.AbstractFailureHandler;
import org.apache.ignite.failure.FailureContext;

/**
 * Ends the process when Ignite cannot continue (its discovery failed, the node was segmented,
 * memory ran out), since the process hosts only this node. The exit code differs from Ignite's 130,
 * which means Ctrl-C.
 */
final class HaltOnFailure extends AbstractFailureHandler {
  static final int EXIT_CODE = 70;

  private static final Pattern MISSING_REGION =
      Pattern.compile("Requested DataRegion is not configured: (\\S+)");

  @Override
  protected boolean handle(Ignite ignite, FailureContext failure) {
    try {
      ignite
          .log()
          .error(
              "The process ends [exitCode=" + EXIT_CODE + ", failure=" + failure + ']',
              failure.error());
      // The log file has the details; the program that started the process gets this line.
      String reason = failure.error() == null ? "" + failure.type() : reason(failure.error());
      System.err.println("tensorflow-ignite node: The node ends: " + reason + ". See its log");
      System.err.flush();
    } finally {
      Runtime.getRuntime().halt(EXIT_CODE);
    }
    return true;
  }

  /** The message of an error, or what to do where Ignite's own message does not say it. */
  static String reason(Throwable error) {
    String message = String.valueOf(error.getMessage());
    Matcher region = MISSING_REGION.matcher(message);
    if (!region.find()) {
      return message;
    }
    return String.format(
        "caches of the cluster are in data region '%s', which this node's configuration does not"
            + " have. Every server node needs the data regions of all caches. Add a"
            + " DataRegionConfiguration named '%s' to dataRegionConfigurations of the node's"
            + " dataStorageConfiguration",
        region.group(1), region.group(1));
  }
}
