package io.tensorflowignite;

/** The end of nodes that all classes of tests of this JVM share. */
public final class AtExit {
  private AtExit() {}

  /** Closes them when the JVM ends; a failure fails no test any more. */
  public static void close(AutoCloseable shared) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    shared.close();
                  } catch (Exception e) {
                    e.printStackTrace();
                  }
                }));
  }
}
