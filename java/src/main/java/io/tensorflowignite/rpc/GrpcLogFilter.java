package io.tensorflowignite.rpc;

import java.util.concurrent.TimeUnit;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * Limits gRPC's log of invalid messages to some lines per minute, without stack traces. Otherwise
 * callers could provoke any number of lines with traces of gRPC's internals.
 */
final class GrpcLogFilter {
  private static final int PER_MINUTE = 20;

  /** Held here, since an unreferenced logger is collected together with its filter. */
  private static final Logger[] LOGGERS = {
    Logger.getLogger("io.grpc.netty.NettyServerStream"),
    Logger.getLogger("io.grpc.netty.NettyServerHandler"),
    Logger.getLogger("io.grpc.netty.NettyServerTransport.connections"),
    Logger.getLogger("io.grpc.internal.SerializingExecutor"),
    Logger.getLogger("io.grpc.internal.ServerCallImpl"),
  };

  private static long minuteStart = System.nanoTime();
  private static int loggedThisMinute;

  private GrpcLogFilter() {}

  static void install() {
    for (Logger logger : LOGGERS) {
      if (logger.getFilter() == null) {
        logger.setFilter(GrpcLogFilter::isLoggable);
      }
    }
  }

  private static synchronized boolean isLoggable(LogRecord line) {
    if (System.nanoTime() - minuteStart >= TimeUnit.MINUTES.toNanos(1)) {
      minuteStart = System.nanoTime();
      loggedThisMinute = 0;
    }
    if (line.getThrown() != null) {
      line.setMessage(line.getMessage() + ": " + line.getThrown());
      line.setThrown(null);
    }
    return loggedThisMinute++ < PER_MINUTE;
  }
}
