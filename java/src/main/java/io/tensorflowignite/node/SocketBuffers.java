package io.tensorflowignite.node;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.spi.communication.CommunicationSpi;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;

/**
 * The receive buffers of Ignite's connections between nodes. A buffer that takes too few segments
 * of the network makes the kernel drop segments and repeat them after growing pauses, so that large
 * values, such as blocks of files, stand still for seconds.
 */
final class SocketBuffers {
  private static final int SEGMENTS = 4;

  private SocketBuffers() {}

  /** Logs a warning if the buffers are too small for the networks of the node. */
  static void check(Ignite ignite, IgniteLogger log) {
    CommunicationSpi<?> configured = ignite.configuration().getCommunicationSpi();
    if (!(configured instanceof TcpCommunicationSpi)) {
      return;
    }
    int bytes = ((TcpCommunicationSpi) configured).getSocketReceiveBuffer();
    int segment = largestSegment(ignite.cluster().localNode().addresses());
    if (isTooSmall(bytes, segment)) {
      log.warning(
          String.format(
              "Connections between nodes may stand still for seconds: their receive buffers have"
                  + " %,d bytes, and a segment of this network has up to %,d. A buffer takes at"
                  + " least %d segments. Set socketSendBuffer and socketReceiveBuffer of"
                  + " TcpCommunicationSpi to %d",
              bytes, segment, SEGMENTS, SEGMENTS * segment));
    }
  }

  /**
   * @param bytes the size of the buffer; 0: the system sets it
   * @param segment the bytes of the largest segment; 0: unknown
   */
  static boolean isTooSmall(int bytes, int segment) {
    return bytes > 0 && bytes < SEGMENTS * segment;
  }

  /** Other hosts do not use the loopback address of a node that has another one. */
  private static int largestSegment(Collection<String> addresses) {
    List<InetAddress> all =
        addresses.stream().map(SocketBuffers::parse).collect(Collectors.toList());
    boolean loopback = all.stream().allMatch(InetAddress::isLoopbackAddress);
    return all.stream()
        .filter(address -> loopback || !address.isLoopbackAddress())
        .mapToInt(SocketBuffers::segment)
        .max()
        .orElse(0);
  }

  private static InetAddress parse(String address) {
    try {
      return InetAddress.getByName(address);
    } catch (UnknownHostException e) {
      return InetAddress.getLoopbackAddress();
    }
  }

  private static int segment(InetAddress address) {
    try {
      NetworkInterface network = NetworkInterface.getByInetAddress(address);
      return network == null ? 0 : network.getMTU();
    } catch (SocketException e) {
      return 0;
    }
  }
}
