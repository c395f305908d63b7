package io.tensorflowignite;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/** Ports for Ignite, which refuses port 0. */
public final class FreePorts {
  private static final int END = 60_000;

  private FreePorts() {}

  /** Returns the first of `count` adjacent free ports of loopback. */
  public static int from(int lowest, int count) throws IOException {
    InetAddress loopback = InetAddress.getByName("127.0.0.1");
    for (int first = lowest; first + count < END; first += count) {
      List<ServerSocket> bound = new ArrayList<>();
      try {
        for (int port = first; port < first + count; port++) {
          bound.add(new ServerSocket(port, 1, loopback));
        }
        return first;
      } catch (IOException taken) {
        // The next ports may be free.
      } finally {
        for (ServerSocket socket : bound) {
          socket.close();
        }
      }
    }
    throw new IOException("no " + count + " adjacent free ports from " + lowest);
  }
}
