package io.tensorflowignite.data.tcp;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Full;
import io.tensorflowignite.base.Loops;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.logger.NullLogger;
import org.junit.After;
import org.junit.Test;
import org.junit.experimental.categories.Category;

public class TcpPortTest {
  private static final String HOST = "127.0.0.1";
  private static final Loops LOOPS = new Loops(new NullLogger());
  private static final int WAIT_MILLIS = 20_000;
  private static final int SHORT_MILLIS = 200;

  private final List<Socket> readers = new ArrayList<>();
  private TcpPort port = open(WAIT_MILLIS);

  @After
  public void close() throws IOException {
    port.close();
    for (Socket reader : readers) {
      reader.close();
    }
  }

  private static TcpPort open(long tokenTimeoutMillis) {
    return TcpPort.open(HOST, 0, 0, tokenTimeoutMillis, LOOPS, new NullLogger()).get();
  }

  private Socket connect() throws IOException {
    Socket reader = new Socket(HOST, port.port());
    reader.setSoTimeout(WAIT_MILLIS);
    readers.add(reader);
    return reader;
  }

  private Socket connect(byte[] token) throws IOException {
    Socket reader = connect();
    reader.getOutputStream().write(token);
    return reader;
  }

  /** Whether its other side has closed a connection; a reset says so too. */
  private static void assertClosed(Socket reader) {
    try {
      assertEquals(-1, reader.getInputStream().read());
    } catch (IOException reset) {
      assertTrue(reset.toString(), reset.getMessage().contains("reset"));
    }
  }

  @Test
  public void eachTokenLeadsToItsReader() throws Exception {
    try (TcpPort.ExpectedReader first = port.register();
        TcpPort.ExpectedReader second = port.register()) {
      Socket late = connect(second.token().toByteArray());
      Socket reader = connect();
      for (byte part : first.token().toByteArray()) {
        reader.getOutputStream().write(part);
      }
      send(first, (byte) 1);
      send(second, (byte) 2);
      assertEquals(1, reader.getInputStream().read());
      assertEquals(2, late.getInputStream().read());
    }
  }

  private static void send(TcpPort.ExpectedReader expected, byte number) throws Exception {
    SocketChannel channel = expected.await(WAIT_MILLIS).get();
    assertTrue(channel.isBlocking());
    channel.write(ByteBuffer.wrap(new byte[] {number}));
  }

  @Test
  public void aTokenServesOnceAndAnUnknownOneNever() throws Exception {
    try (TcpPort.ExpectedReader expected = port.register()) {
      byte[] token = expected.token().toByteArray();
      connect(token);
      assertTrue(expected.await(WAIT_MILLIS).isPresent());
      assertClosed(connect(token));
    }
    assertClosed(connect(new byte[TcpPort.TOKEN_BYTES]));
  }

  @Test
  public void aConnectionThatDoesNotSendItsTokenInTimeIsClosed() throws Exception {
    port.close();
    port = open(SHORT_MILLIS);
    Socket silent = connect();
    Socket slow = connect(new byte[TcpPort.TOKEN_BYTES - 1]);
    assertClosed(silent);
    assertClosed(slow);
  }

  @Test
  @Category(Full.class)
  public void silentConnectionsKeepNoReaderOut() throws Exception {
    Socket oldest = connect();
    for (int i = 1; i < 2 * TcpPort.MAX_PENDING; i++) {
      connect(new byte[1]);
    }
    assertClosed(oldest);
    try (TcpPort.ExpectedReader expected = port.register()) {
      connect(expected.token().toByteArray());
      assertTrue(expected.await(WAIT_MILLIS).isPresent());
    }
  }

  @Test
  public void aClosedReaderLosesItsConnection() throws Exception {
    TcpPort.ExpectedReader early = port.register();
    assertFalse("until the timeout", early.await(1).isPresent());
    early.close();
    assertFalse(early.await(WAIT_MILLIS).isPresent());
    assertClosed(connect(early.token().toByteArray()));

    TcpPort.ExpectedReader connected = port.register();
    Socket reader = connect(connected.token().toByteArray());
    SocketChannel channel = connected.await(WAIT_MILLIS).get();
    connected.close();
    assertFalse(channel.isOpen());
    assertClosed(reader);
  }

  @Test
  public void aClosedPortAcceptsNoConnection() throws Exception {
    Socket silent = connect();
    port.close();
    assertClosed(silent);
    assertThrows(IOException.class, this::connect);
  }

  @Test
  public void theFirstFreePortIsBoundAndNoneIfAllAreTaken() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName(HOST))) {
      int number = taken.getLocalPort();
      assertFalse(TcpPort.open(HOST, number, number, LOOPS, new NullLogger()).isPresent());
      try (TcpPort next = TcpPort.open(HOST, number, number + 50, LOOPS, new NullLogger()).get()) {
        assertTrue(next.port() > number && next.port() <= number + 50);
      }
    }
  }
}
