package io.tensorflowignite.predict;

import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.tensorflowignite.base.IdleThreads;
import java.lang.reflect.InvocationTargetException;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;

/** Connections to model processes, over their Unix sockets. */
final class ModelChannels implements AutoCloseable {
  private static final int WINDOW_BYTES = 4 << 20;

  /** An answer takes at most this part of the heap, as the requests that wait for a model do. */
  private static final int HEAP_DIVISOR = 16;

  /** The parts of an answer that are not values, such as names and shapes. */
  private static final int MAX_FRAME_BYTES = 1 << 20;

  private static final long CLOSE_MS = 2_000;

  private final EventLoopGroup loop =
      new NioEventLoopGroup(1, IdleThreads.daemons("tensorflow-ignite-model-channels-%d"));

  ManagedChannel open(String socket) {
    return NettyChannelBuilder.forAddress(address(socket))
        .channelFactory(NioDomainSocketChannel::new)
        .eventLoopGroup(loop)
        .overrideAuthority("localhost")
        .usePlaintext()
        .flowControlWindow(WINDOW_BYTES)
        .maxInboundMessageSize(
            (int) Math.min(Integer.MAX_VALUE, maxAnswerBytes() + MAX_FRAME_BYTES))
        .build();
  }

  /** The largest tensors, together, that a process may answer a request with. */
  static long maxAnswerBytes() {
    return Runtime.getRuntime().maxMemory() / HEAP_DIVISOR;
  }

  /** The class of these addresses is of Java 16; the rest of a node runs with Java 11. */
  private static SocketAddress address(String socket) {
    try {
      return (SocketAddress)
          Class.forName("java.net.UnixDomainSocketAddress")
              .getMethod("of", String.class)
              .invoke(null, socket);
    } catch (ClassNotFoundException | NoSuchMethodException | IllegalAccessException e) {
      throw new UnsupportedOperationException(
          "Models are served over Unix sockets, for which a node needs Java 16 or later. This is"
              + " Java "
              + System.getProperty("java.version")
              + ". Start the node with a later one.",
          e);
    } catch (InvocationTargetException e) {
      throw new IllegalArgumentException("No path of a socket: " + socket, e.getCause());
    }
  }

  @Override
  public void close() {
    loop.shutdownGracefully(0, CLOSE_MS, TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(CLOSE_MS, TimeUnit.MILLISECONDS);
  }
}
