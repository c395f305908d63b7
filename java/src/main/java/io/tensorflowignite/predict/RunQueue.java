package io.tensorflowignite.predict;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/** How long processes have waited for a processor. */
final class RunQueue {
  private RunQueue() {}

  /**
   * The time for which the threads of a process were ready to run, but other threads had the
   * processors.
   *
   * @return nanoseconds, the sum over its threads; 0: the process has ended, or the kernel does not
   *     count
   */
  static long waited(long pid) {
    File[] threads = new File("/proc/" + pid + "/task").listFiles();
    long nanos = 0;
    for (File thread : threads == null ? new File[0] : threads) {
      try {
        // Nanoseconds on a processor, nanoseconds of waiting, number of time slices.
        String[] times = Files.readString(new File(thread, "schedstat").toPath()).split(" ");
        nanos += Long.parseLong(times[1]);
      } catch (IOException ended) {
        continue;
      }
    }
    return nanos;
  }
}
