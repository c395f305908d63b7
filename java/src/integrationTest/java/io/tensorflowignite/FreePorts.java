package io.tensorflowignite;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for Ignite, which refuses port 0. */
public final class FreePorts {
  /** Below the ports that the system hands out, and those of the tests in Python. */
  private static final int LOWEST = 10_000;

  private static final int END = 20_000;

  /** Blocks do not overlap. The first port of a block stays bound: it claims the others. */
  private static final int BLOCK = 25;

  private static final int TRIES = 200;

  /** Until the end of this process: others that run tests at the same time get other blocks. */
  private static final List<ServerSocket> CLAIMS = new ArrayList<>();

  private FreePorts() {}

  /**
   * Returns the first of `count` adjacent free ports of loopback, which stay those of this process.
   */
  public static synchronized int claim(int count) throws IOException {
    if (count >= BLOCK) {
      throw new IllegalArgumentException(count + " ports; a block has " + (BLOCK - 1));
    }
    for (int tried = 0; tried < TRIES; tried++) {
      int first = LOWEST + BLOCK * ThreadLocalRandom.current().nextInt((END - LOWEST) / BLOCK);
      List<ServerSocket> bound = new ArrayList<>();
      try {
        for (int port = first; port < first + BLOCK; port++) {
          bound.add(new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1")));
        }
        CLAIMS.add(bound.remove(0));
        return first + 1;
      } catch (IOException taken) {
        // Other ports may be free.
      } finally {
        for (ServerSocket socket : bound) {
          socket.close();
        }
      }
    }
    throw new IOException(
        "no " + BLOCK + " adjacent free ports from " + LOWEST + " up in " + TRIES + " tries");
  }
}
