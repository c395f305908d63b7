package io.tensorflowignite.embedded;

import org.apache.ignite.Ignite;
import org.apache.ignite.failure.AbstractFailureHandler;
import org.apache.ignite.failure.FailureContext;

/**
 * Ends the whole process when Ignite can no longer work (its discovery died, the node was cut off,
 * memory ran out): a process that hosts nothing but a dead node would only look alive. Its own exit
 * code, since Ignite's (130) reads as Ctrl-C.
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
