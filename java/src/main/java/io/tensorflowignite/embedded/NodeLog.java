package io.tensorflowignite.embedded;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.ConsoleHandler;
import java.util.logging.FileHandler;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.logger.java.JavaLogger;

/** Logs to a file, and severe lines to the standard error stream as well. */
final class NodeLog {
  private static final int FILE_BYTES = 16 * 1024 * 1024;
  private static final int FILES = 4;
  private static final Queue<FileChannel> CHANNELS = new ConcurrentLinkedQueue<>();

  private NodeLog() {}

  /**
   * Logs into the {@link #file}: four files of 16 MiB in turn, of which this is the newest.
   *
   * @return the logger for Ignite
   */
  static IgniteLogger into(Path file) throws IOException {
    Files.createDirectories(file.getParent());
    Logger root = Logger.getLogger("");
    for (Handler handler : root.getHandlers()) {
      root.removeHandler(handler);
    }
    // % is the escape of the handler's file names.
    String pattern = file.toString().replace("%", "%%").replace(".0.log", ".%g.log");
    root.addHandler(
        configured(new FileHandler(pattern, FILE_BYTES, FILES, true), Level.INFO, true));
    root.addHandler(configured(new ConsoleHandler(), Level.SEVERE, false));
    root.setLevel(Level.INFO);
    // With this property Ignite does not replace the handlers.
    System.setProperty("java.util.logging.config.file", NodeLog.class.getName());
    return new JavaLogger(root, false);
  }

  /**
   * The file with the newest lines of {@link #into}. Nodes without a name may share a work
   * directory: each gets the first number that no running process uses.
   */
  static Path file(Path directory, String name) throws IOException {
    Path folder = Files.createDirectories(directory.toAbsolutePath());
    for (int number = 0; ; number++) {
      String own = number == 0 ? name : name + "-" + number;
      if (isLocked(folder.resolve(own + ".lock"))) {
        return folder.resolve(own + ".0.log");
      }
    }
  }

  /** Returns whether this process got the lock, which it holds until its end. */
  private static boolean isLocked(Path lock) throws IOException {
    FileChannel channel =
        FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    // Stays open even without the lock: closing a file releases all locks of the process on it.
    CHANNELS.add(channel);
    try {
      return channel.tryLock() != null;
    } catch (OverlappingFileLockException e) {
      return false;
    }
  }

  private static Handler configured(Handler handler, Level level, boolean traces)
      throws IOException {
    handler.setEncoding("UTF-8");
    handler.setLevel(level);
    handler.setFormatter(new Lines(traces));
    return handler;
  }

  /** Time, level, thread, short logger name, text; optionally a stack trace on separate lines. */
  private static final class Lines extends Formatter {
    private static final DateTimeFormatter TIME =
        DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS").withZone(ZoneId.systemDefault());

    private final boolean traces;

    Lines(boolean traces) {
      this.traces = traces;
    }

    @Override
    public String format(LogRecord line) {
      String logger = line.getLoggerName() == null ? "" : line.getLoggerName();
      StringWriter text = new StringWriter();
      text.append(TIME.format(Instant.ofEpochMilli(line.getMillis()))).append(' ');
      text.append(line.getLevel().getName())
          .append(" [")
          .append(Thread.currentThread().getName())
          .append("] ");
      text.append(logger.substring(logger.lastIndexOf('.') + 1)).append(": ");
      text.append(formatMessage(line)).append(System.lineSeparator());
      if (traces && line.getThrown() != null) {
        line.getThrown().printStackTrace(new PrintWriter(text, true));
      }
      return text.toString();
    }
  }
}
