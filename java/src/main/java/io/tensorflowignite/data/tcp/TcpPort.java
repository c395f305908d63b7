package io.tensorflowignite.data.tcp;

import com.google.protobuf.ByteString;
import io.tensorflowignite.RareLog;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.ignite.IgniteLogger;

/**
 * The port at which readers collect rows that a call has promised them. Who connects says by a
 * token which rows these are; who does not is let go.
 */
public final class TcpPort implements AutoCloseable {
  static final int TOKEN_BYTES = 32;

  private static final long GREETING_MILLIS = 5_000;

  /** Connections that have not sent their token yet. */
  static final int MAX_SILENT = 256;

  private static final long TICK_MILLIS = 1_000;
  private static final long CLOSE_MILLIS = 5_000;

  private final SecureRandom random = new SecureRandom();
  private final Map<ByteString, Visitor> expected = new ConcurrentHashMap<>();
  private final ServerSocketChannel server;
  private final Selector selector;
  private final int port;
  private final long greetingNanos;
  private final RareLog log;
  private final Thread thread;

  private TcpPort(
      ServerSocketChannel server, Selector selector, long greetingMillis, IgniteLogger log)
      throws IOException {
    this.server = server;
    this.selector = selector;
    this.log = new RareLog(log);
    greetingNanos = TimeUnit.MILLISECONDS.toNanos(greetingMillis);
    port = ((InetSocketAddress) server.getLocalAddress()).getPort();
    thread = new Thread(this::run, "tensorflow-ignite-rows-port");
    thread.setDaemon(true);
  }

  /**
   * Binds the first free port of the range; port 0 is any free port.
   *
   * @return empty when none is free
   */
  public static Optional<TcpPort> open(String host, int first, int last, IgniteLogger log) {
    return open(host, first, last, GREETING_MILLIS, log);
  }

  /**
   * @param greetingMillis in which a token must come
   */
  static Optional<TcpPort> open(
      String host, int first, int last, long greetingMillis, IgniteLogger log) {
    String reason = "";
    for (int port = first; port <= last; port++) {
      try {
        return Optional.of(bound(new InetSocketAddress(host, port), greetingMillis, log));
      } catch (IOException taken) {
        reason = taken.getMessage();
      }
    }
    log.warning(
        String.format(
            "Rows travel over the node API's own port, which takes more processor time: no port is"
                + " free for them [host=%s, ports=%d..%d, reason=%s]",
            host, first, last, reason));
    return Optional.empty();
  }

  private static TcpPort bound(InetSocketAddress address, long greetingMillis, IgniteLogger log)
      throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open();
    Selector selector = null;
    try {
      server.bind(address);
      server.configureBlocking(false);
      selector = Selector.open();
      server.register(selector, SelectionKey.OP_ACCEPT);
      TcpPort port = new TcpPort(server, selector, greetingMillis, log);
      port.thread.start();
      return port;
    } catch (IOException error) {
      if (selector != null) {
        selector.close();
      }
      server.close();
      throw error;
    }
  }

  int port() {
    return port;
  }

  /** Somebody is going to connect for rows; to be closed when he has them, or will not get them. */
  Visitor expect() {
    byte[] token = new byte[TOKEN_BYTES];
    random.nextBytes(token);
    Visitor visitor = new Visitor(ByteString.copyFrom(token));
    expected.put(visitor.token, visitor);
    return visitor;
  }

  private void run() {
    try {
      while (server.isOpen()) {
        selector.select(this::happened, TICK_MILLIS);
        closeSilent();
      }
    } catch (IOException | RuntimeException broken) {
      log.error("No reader can connect any more [port=" + port + "]", broken);
    } finally {
      new ArrayList<>(selector.keys()).forEach(key -> close(key.channel()));
      close(selector);
    }
  }

  private void happened(SelectionKey key) {
    try {
      if (key.isAcceptable()) {
        accept();
      } else if (key.isReadable()) {
        listen(key);
      }
    } catch (IOException broken) {
      if (key.channel() != server) {
        close(key.channel());
      } else if (server.isOpen()) {
        log.error("A reader could not connect [port=" + port + "]", broken);
        pause();
      }
    }
  }

  private void accept() throws IOException {
    SocketChannel channel = server.accept();
    if (channel == null) {
      return;
    }
    // One key is the server's own.
    if (selector.keys().size() > MAX_SILENT) {
      channel.close();
      return;
    }
    channel.configureBlocking(false);
    channel.socket().setTcpNoDelay(true);
    channel.register(
        selector, SelectionKey.OP_READ, new Greeting(System.nanoTime() + greetingNanos));
  }

  private void listen(SelectionKey key) throws IOException {
    SocketChannel channel = (SocketChannel) key.channel();
    ByteBuffer token = ((Greeting) key.attachment()).token;
    if (channel.read(token) < 0) {
      channel.close();
      return;
    }
    if (token.hasRemaining()) {
      return;
    }
    token.flip();
    Visitor visitor = expected.remove(ByteString.copyFrom(token));
    if (visitor == null) {
      channel.close();
      return;
    }
    key.cancel();
    channel.configureBlocking(true);
    visitor.arrived(channel);
  }

  private void closeSilent() {
    long now = System.nanoTime();
    for (SelectionKey key : selector.keys()) {
      Greeting greeting = (Greeting) key.attachment();
      if (greeting != null && key.isValid() && now - greeting.end > 0) {
        close(key.channel());
      }
    }
  }

  /** The machine has no file left, perhaps: trying again at once would keep a processor busy. */
  private static void pause() {
    try {
      Thread.sleep(TICK_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void close(AutoCloseable thing) {
    try {
      thing.close();
    } catch (Exception broken) {
      // Nobody reads from it or writes into it any more.
    }
  }

  /** Connections that somebody has taken over live on. */
  @Override
  public void close() {
    close(server);
    selector.wakeup();
    try {
      thread.join(CLOSE_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** What a connection has said so far. */
  private static final class Greeting {
    private final ByteBuffer token = ByteBuffer.allocate(TOKEN_BYTES);
    private final long end;

    Greeting(long end) {
      this.end = end;
    }
  }

  /** Somebody who is expected, and then his connection. */
  final class Visitor implements AutoCloseable {
    private final ByteString token;
    private final CompletableFuture<SocketChannel> arrival = new CompletableFuture<>();

    private Visitor(ByteString token) {
      this.token = token;
    }

    ByteString token() {
      return token;
    }

    /** His connection; empty when he does not come in time, or has been sent away. */
    Optional<SocketChannel> await(long millis) throws InterruptedException {
      try {
        return Optional.ofNullable(arrival.get(millis, TimeUnit.MILLISECONDS));
      } catch (TimeoutException late) {
        return Optional.empty();
      } catch (ExecutionException impossible) {
        throw new IllegalStateException(impossible);
      }
    }

    private void arrived(SocketChannel channel) {
      if (!arrival.complete(channel)) {
        TcpPort.close(channel);
      }
    }

    /** Ends his connection, from any thread: who writes into it gets an IOException. */
    @Override
    public void close() {
      expected.remove(token);
      if (!arrival.complete(null)) {
        SocketChannel channel = arrival.join();
        if (channel != null) {
          TcpPort.close(channel);
        }
      }
    }
  }
}
