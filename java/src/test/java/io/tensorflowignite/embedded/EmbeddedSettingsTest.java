package io.tensorflowignite.embedded;

import static org.junit.Assert.assertEquals;

import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.junit.Test;

public class EmbeddedSettingsTest {
  @Test
  public void connectionsBetweenNodesHaveBuffersForTheSegmentsOfLoopbackUnlessTheyAreSet() {
    assertBuffers(new IgniteConfiguration(), 256 << 10);
    TcpCommunicationSpi nodes = new TcpCommunicationSpi();
    nodes.setSocketSendBuffer(0).setSocketReceiveBuffer(0);
    assertBuffers(new IgniteConfiguration().setCommunicationSpi(nodes), 0);
  }

  private static void assertBuffers(IgniteConfiguration configuration, int bytes) {
    new EmbeddedSettings().applyTo(configuration);
    TcpCommunicationSpi nodes = (TcpCommunicationSpi) configuration.getCommunicationSpi();
    assertEquals(bytes, nodes.getSocketSendBuffer());
    assertEquals(bytes, nodes.getSocketReceiveBuffer());
  }
}
