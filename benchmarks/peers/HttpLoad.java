import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Callers of an HTTP server: POST requests over connections that stay open, one thread for each.
 *
 * <p>Argument: a file with a body in each line, which are sent in turn. It reads lines from its
 * input, and answers each with a line of JSON:
 *
 * <ul>
 *   <li>{@code open PORT PATH RATE SECONDS CONNECTIONS}: requests at a steady rate, whatever time
 *       each of them takes. A latency is counted from the moment at which the request was due.
 *   <li>{@code closed PORT PATH CONNECTIONS SECONDS}: each caller sends a request when it has the
 *       answer to the one before.
 * </ul>
 */
public final class HttpLoad {
  private static final double MILLISECOND = 1e6;
  private static final long SECOND = 1_000_000_000L;
  private static final long LEAD = 50_000_000L;
  private static final int TIMEOUT_MS = 30_000;
  private static final int OK = 200;

  private final List<byte[]> bodies;

  private HttpLoad(List<byte[]> bodies) {
    this.bodies = bodies;
  }

  public static void main(String[] arguments) throws Exception {
    List<byte[]> bodies = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(arguments[0]))) {
      bodies.add(line.getBytes(StandardCharsets.UTF_8));
    }
    HttpLoad load = new HttpLoad(bodies);
    System.out.println("{\"ready\": [\"open\", \"closed\"]}");
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split(" ");
      int port = Integer.parseInt(parts[1]);
      System.out.println(
          parts[0].equals("open")
              ? load.open(
                  port,
                  parts[2],
                  Double.parseDouble(parts[3]),
                  Double.parseDouble(parts[4]),
                  Integer.parseInt(parts[5]))
              : load.closed(
                  port, parts[2], Integer.parseInt(parts[3]), Double.parseDouble(parts[4])));
    }
  }

  private String open(int port, String path, double rate, double seconds, int connections)
      throws InterruptedException {
    int count = (int) (rate * seconds);
    double[] latency = new double[count];
    AtomicInteger next = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(connections);
    long begin = System.nanoTime() + LEAD;
    for (int thread = 0; thread < connections; thread++) {
      new Thread(
              () -> {
                try (Caller caller = new Caller(port, path)) {
                  for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
                    long due = begin + (long) (i / rate * SECOND);
                    for (long left = due - System.nanoTime();
                        left > 0;
                        left = due - System.nanoTime()) {
                      LockSupport.parkNanos(left);
                    }
                    if (!caller.call(bodies.get(i % bodies.size()))) {
                      failed.incrementAndGet();
                    }
                    latency[i] = (System.nanoTime() - due) / MILLISECOND;
                  }
                } finally {
                  done.countDown();
                }
              })
          .start();
    }
    done.await();
    StringBuilder text = new StringBuilder();
    for (double each : latency) {
      text.append(text.length() == 0 ? "" : ", ").append(String.format(Locale.ROOT, "%.3f", each));
    }
    return String.format(
        Locale.ROOT,
        "{\"failed\": %d, \"begin\": %.6f, \"latencies_ms\": [%s]}",
        failed.get(),
        begin / (double) SECOND,
        text);
  }

  private String closed(int port, String path, int connections, double seconds)
      throws InterruptedException {
    AtomicInteger answered = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(connections);
    long begin = System.nanoTime();
    long end = begin + (long) (seconds * SECOND);
    for (int thread = 0; thread < connections; thread++) {
      int first = thread;
      new Thread(
              () -> {
                try (Caller caller = new Caller(port, path)) {
                  for (int i = first; System.nanoTime() - end < 0; i++) {
                    if (caller.call(bodies.get(i % bodies.size()))) {
                      answered.incrementAndGet();
                    } else {
                      failed.incrementAndGet();
                    }
                  }
                } finally {
                  done.countDown();
                }
              })
          .start();
    }
    done.await();
    double took = (System.nanoTime() - begin) / (double) SECOND;
    return String.format(
        Locale.ROOT,
        "{\"failed\": %d, \"answered\": %d, \"seconds\": %.4f}",
        failed.get(),
        answered.get(),
        took);
  }

  /** One connection, which is opened again after a failure. */
  private static final class Caller implements AutoCloseable {
    private final int port;
    private final String head;
    private Socket socket;
    private InputStream in;
    private OutputStream out;
    private byte[] body = new byte[0];

    Caller(int port, String path) {
      this.port = port;
      this.head =
          "POST "
              + path
              + " HTTP/1.1\r\nHost: 127.0.0.1:"
              + port
              + "\r\nContent-Type: application/json\r\nContent-Length: ";
    }

    boolean call(byte[] request) {
      try {
        if (socket == null) {
          socket = new Socket("127.0.0.1", port);
          socket.setTcpNoDelay(true);
          socket.setSoTimeout(TIMEOUT_MS);
          in = new BufferedInputStream(socket.getInputStream(), 1 << 14);
          out = socket.getOutputStream();
        }
        byte[] line = (head + request.length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII);
        byte[] message = new byte[line.length + request.length];
        System.arraycopy(line, 0, message, 0, line.length);
        System.arraycopy(request, 0, message, line.length, request.length);
        out.write(message);
        int status = answer();
        if (status != OK) {
          System.err.println(status + " " + new String(body, StandardCharsets.UTF_8));
        }
        return status == OK;
      } catch (IOException | RuntimeException error) {
        System.err.println(error);
        close();
        return false;
      }
    }

    private int answer() throws IOException {
      int status = Integer.parseInt(line().split(" ")[1]);
      int length = 0;
      boolean isChunked = false;
      for (String line = line(); !line.isEmpty(); line = line()) {
        String lower = line.toLowerCase(Locale.ROOT);
        if (lower.startsWith("content-length:")) {
          length = Integer.parseInt(lower.substring("content-length:".length()).trim());
        }
        isChunked |= lower.equals("transfer-encoding: chunked");
      }
      body = isChunked ? chunks() : bytes(length);
      return status;
    }

    private byte[] chunks() throws IOException {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (int length = chunkLength(); length > 0; length = chunkLength()) {
        all.write(bytes(length));
        line();
      }
      line();
      return all.toByteArray();
    }

    private int chunkLength() throws IOException {
      return Integer.parseInt(line(), 16);
    }

    private byte[] bytes(int length) throws IOException {
      byte[] found = in.readNBytes(length);
      if (found.length < length) {
        throw new IOException("the connection was closed within an answer");
      }
      return found;
    }

    private String line() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int letter = in.read(); letter != '\n'; letter = in.read()) {
        if (letter < 0) {
          throw new IOException("the connection was closed");
        }
        if (letter != '\r') {
          line.append((char) letter);
        }
      }
      return line.toString();
    }

    @Override
    public void close() {
      try {
        if (socket != null) {
          socket.close();
        }
      } catch (IOException ignored) {
        // It is not used any more.
      }
      socket = null;
    }
  }
}
