package io.tensorflowignite.data.tcp;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.RateLimitedLog;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteLogger;

/**
 * The port at which readers fetch the rows of a call. A connection begins with the token from the
 * call's answer; connections without a valid token are closed.
 */
public final class TcpPort implements AutoCloseable {
  static final int TOKEN_BYTES = 32;

  private static final long TOKEN_TIMEOUT_MILLIS = 5_000;

  /** Limit of connections that have not sent their token yet; above it the oldest is closed. */
  static final int MAX_PENDING = 256;

  private static final long POLL_MILLIS = 1_000;
  private static final Duration PASS_LIMIT = Duration.ofSeconds(30);
  private static final long CLOSE_MILLIS = 5_000;

  private final SecureRandom random = new SecureRandom();
  private final Map<ByteString, ExpectedReader> expected = new ConcurrentHashMap<>();
  private final ServerSocketChannel server;
  private final Selector selector;
  private final int port;
  private final long tokenTimeoutNanos;
  private final RateLimitedLog log;
  private final Loop loop;
  private final Thread thread;

  private TcpPort(
      ServerSocketChannel server,
      Selector selector,
      long tokenTimeoutMillis,
      Loops loops,
      IgniteLogger log)
      throws IOException {
    this.server = server;
    this.selector = selector;
    this.log = new RateLimitedLog(log);
    tokenTimeoutNanos = TimeUnit.MILLISECONDS.toNanos(tokenTimeoutMillis);
    port = ((InetSocketAddress) server.getLocalAddress()).getPort();
    loop = loops.continuous("rows port", PASS_LIMIT, () -> !server.isOpen());
    thread = new Thread(this::run, "tensorflow-ignite-rows-port");
    thread.setDaemon(true);
  }

  /**
   * Binds the first free port of the range; port 0 is any free port.
   *
   * @return empty if no port is free
   */
  public static Optional<TcpPort> open(
      String host, int first, int last, Loops loops, IgniteLogger log) {
    return open(host, first, last, TOKEN_TIMEOUT_MILLIS, loops, log);
  }

  /**
   * @param tokenTimeoutMillis time in which a connection must send its token
   */
  static Optional<TcpPort> open(
      String host, int first, int last, long tokenTimeoutMillis, Loops loops, IgniteLogger log) {
    String reason = "";
    for (int port = first; port <= last; port++) {
      try {
        return Optional.of(
            bound(new InetSocketAddress(host, port), tokenTimeoutMillis, loops, log));
      } catch (IOException taken) {
        reason = taken.getMessage();
      }
    }
    log.warning(
        String.format(
            "No TCP port for rows is free; rows use the port of the node API, which takes more"
                + " processor time [host=%s, ports=%d..%d, reason=%s]",
            host, first, last, reason));
    return Optional.empty();
  }

  private static TcpPort bound(
      InetSocketAddress address, long tokenTimeoutMillis, Loops loops, IgniteLogger log)
      throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open();
    Selector selector = null;
    try {
      server.bind(address);
      server.configureBlocking(false);
      selector = Selector.open();
      server.register(selector, SelectionKey.OP_ACCEPT);
      TcpPort port = new TcpPort(server, selector, tokenTimeoutMillis, loops, log);
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

  public int port() {
    return port;
  }

  /** Registers a reader that will connect. The caller closes the result when the call ends. */
  public ExpectedReader register() {
    byte[] token = new byte[TOKEN_BYTES];
    random.nextBytes(token);
    ExpectedReader reader = new ExpectedReader(ByteString.copyFrom(token));
    expected.put(reader.token, reader);
    return reader;
  }

  private void run() {
    loop.run(
        Duration.ofMillis(POLL_MILLIS),
        () -> {
          selector.select(this::handle, POLL_MILLIS);
          closeTimedOut();
        });
    new ArrayList<>(selector.keys()).forEach(key -> close(key.channel()));
    close(selector);
  }

  private void handle(SelectionKey key) {
    try {
      if (key.isAcceptable()) {
        accept();
      } else if (key.isReadable()) {
        readToken(key);
      }
    } catch (IOException | RuntimeException broken) {
      // A key of a channel that has been closed meanwhile throws a RuntimeException.
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
    closeOldestAboveLimit();
    channel.configureBlocking(false);
    channel.socket().setTcpNoDelay(true);
    channel.register(
        selector,
        SelectionKey.OP_READ,
        new PendingConnection(System.nanoTime() + tokenTimeoutNanos));
  }

  /**
   * A reader sends its token at once: the connection that has been silent longest has no reader.
   */
  private void closeOldestAboveLimit() {
    List<SelectionKey> pending =
        selector.keys().stream()
            .filter(key -> key.isValid() && key.attachment() != null)
            .collect(Collectors.toList());
    if (pending.size() >= MAX_PENDING) {
      pending.stream()
          .min(Comparator.comparingLong(key -> ((PendingConnection) key.attachment()).deadline))
          .ifPresent(oldest -> close(oldest.channel()));
    }
  }

  private void readToken(SelectionKey key) throws IOException {
    SocketChannel channel = (SocketChannel) key.channel();
    ByteBuffer token = ((PendingConnection) key.attachment()).token;
    if (channel.read(token) < 0) {
      channel.close();
      return;
    }
    if (token.hasRemaining()) {
      return;
    }
    token.flip();
    ExpectedReader reader = expected.remove(ByteString.copyFrom(token));
    if (reader == null) {
      channel.close();
      return;
    }
    key.cancel();
    channel.configureBlocking(true);
    reader.accept(channel);
  }

  private void closeTimedOut() {
    long now = System.nanoTime();
    for (SelectionKey key : selector.keys()) {
      PendingConnection pending = (PendingConnection) key.attachment();
      if (pending != null && key.isValid() && now - pending.deadline > 0) {
        close(key.channel());
      }
    }
  }

  /** Waits before the next try: it would fail at once if the process has no free descriptor. */
  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void close(AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception broken) {
      // The resource is not used after this.
    }
  }

  /** Accepted connections of readers stay open. */
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

  /** A connection that has not sent its whole token yet. */
  private static final class PendingConnection {
    private final ByteBuffer token = ByteBuffer.allocate(TOKEN_BYTES);
    private final long deadline;

    PendingConnection(long deadline) {
      this.deadline = deadline;
    }
  }

  /** A registered reader, and its connection when it has connected. */
  public final class ExpectedReader implements AutoCloseable {
    private final ByteString token;
    private final CompletableFuture<SocketChannel> connection = new CompletableFuture<>();

    private ExpectedReader(ByteString token) {
      this.token = token;
    }

    public ByteString token() {
      return token;
    }

    /** The connection; empty if the reader does not connect in time, or was closed. */
    public Optional<SocketChannel> await(long millis) throws InterruptedException {
      try {
        return Optional.ofNullable(connection.get(millis, TimeUnit.MILLISECONDS));
      } catch (TimeoutException late) {
        return Optional.empty();
      } catch (ExecutionException impossible) {
        throw new IllegalStateException(impossible);
      }
    }

    private void accept(SocketChannel channel) {
      if (!connection.complete(channel)) {
        TcpPort.close(channel);
      }
    }

    /** Closes the connection, from any thread; a thread that writes to it gets an IOException. */
    @Override
    public void close() {
      expected.remove(token);
      if (!connection.complete(null)) {
        SocketChannel channel = connection.join();
        if (channel != null) {
          TcpPort.close(channel);
        }
      }
    }
  }
}
