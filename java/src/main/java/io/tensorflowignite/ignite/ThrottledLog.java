package io.tensorflowignite.ignite;

import org.apache.ignite.IgniteLogger;
import org.apache.ignite.internal.util.typedef.internal.LT;

/** Logs each text at most once a minute, also if several objects log it. */
public final class ThrottledLog {
  private final IgniteLogger log;

  public ThrottledLog(IgniteLogger log) {
    this.log = log;
  }

  public void warning(String text) {
    LT.warn(log, text);
  }

  public void error(String text, Throwable error) {
    LT.error(log, error, text);
  }
}
