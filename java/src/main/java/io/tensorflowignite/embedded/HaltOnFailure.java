package io.tensorflowignite.embedded;

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

  @Override
  protected boolean handle(Ignite ignite, FailureContext failure) {
    ignite
        .log()
        .error(
            "The process ends [exitCode=" + EXIT_CODE + ", failure=" + failure + ']',
            failure.error());
    Runtime.getRuntime().halt(EXIT_CODE);
    return true;
  }
}
