package io.tensorflowignite.job;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.Test;

public class ClusterViewTest {
  @Test
  public void onlyARefusedConnectionProvesThatANodeIsDead() throws IOException {
    String address;
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      address = "127.0.0.1:" + server.getLocalPort();
      assertFalse(ClusterView.refusesConnections(address));
    }
    assertTrue(ClusterView.refusesConnections(address));
  }

  @Test
  public void anAddressThatCannotBeReadProvesNothing() {
    for (String address : List.of("", "::1:10820", "2001:db8::1:10820", "host", "host:port")) {
      assertFalse(address, ClusterView.refusesConnections(address));
    }
  }
}
