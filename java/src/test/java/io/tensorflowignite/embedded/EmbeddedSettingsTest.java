package io.tensorflowignite.embedded;

import static org.junit.Assert.assertEquals;

import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.junit.Test;

public class EmbeddedSettingsTest {
  @Test
  public void connectionsBetweenNodesHaveBuffersForTheSegmentsOfLoopback() {
    IgniteConfiguration configuration = new IgniteConfiguration();
    new EmbeddedSettings().applyTo(configuration);
    assertBuffers(configuration, 256 << 10);
  }

  @Test
  public void configuredBuffersStayAsTheyAre() {
    IgniteConfiguration configuration =
        new IgniteConfiguration()
            .setCommunicationSpi(
                new TcpCommunicationSpi().setSocketSendBuffer(0).setSocketReceiveBuffer(0));
    new EmbeddedSettings().applyTo(configuration);
    assertBuffers(configuration, 0);
  }

  private static void assertBuffers(IgniteConfiguration configuration, int bytes) {
    TcpCommunicationSpi nodes = (TcpCommunicationSpi) configuration.getCommunicationSpi();
    assertEquals(bytes, nodes.getSocketSendBuffer());
    assertEquals(bytes, nodes.getSocketReceiveBuffer());
  }
}
