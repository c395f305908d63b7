package io.tensorflowignite.api;

import java.util.concurrent.TimeUnit;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * What gRPC logs of messages that callers get wrong: one line each, some in a minute. It has stack
 * traces of its own insides for them, and as many as a caller likes.
 */
final class GrpcLog {
  private static final int PER_MINUTE = 20;

  /** Held here: a logger that nobody holds is forgotten, with what was set. */
  private static final Logger[] LOGGERS = {
    Logger.getLogger("io.grpc.netty.NettyServerStream"),
    Logger.getLogger("io.grpc.netty.NettyServerHandler"),
    Logger.getLogger("io.grpc.internal.SerializingExecutor"),
    Logger.getLogger("io.grpc.internal.ServerCallImpl"),
  };

  private static long begin = System.nanoTime();
  private static int told;

  private GrpcLog() {}

  static void tame() {
    for (Logger logger : LOGGERS) {
      if (logger.getFilter() == null) {
        logger.setFilter(GrpcLog::admit);
      }
    }
  }

  private static synchronized boolean admit(LogRecord line) {
    if (System.nanoTime() - begin >= TimeUnit.MINUTES.toNanos(1)) {
      begin = System.nanoTime();
      told = 0;
    }
    if (line.getThrown() != null) {
      line.setMessage(line.getMessage() + ": " + line.getThrown());
      line.setThrown(null);
    }
    return told++ < PER_MINUTE;
  }
}
