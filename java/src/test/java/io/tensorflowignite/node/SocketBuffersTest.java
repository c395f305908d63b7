package io.tensorflowignite.node;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class SocketBuffersTest {
  @Test
  public void ignitesDefaultIsEnoughForEthernetAndTooSmallForLoopbackAndJumboFrames() {
    int ignitesDefault = 32 << 10;
    assertFalse(SocketBuffers.isTooSmall(ignitesDefault, 1500));
    assertTrue(SocketBuffers.isTooSmall(ignitesDefault, 9000));
    assertTrue(SocketBuffers.isTooSmall(ignitesDefault, 65536));
    assertFalse(SocketBuffers.isTooSmall(256 << 10, 65536));
    // Those of the system, and of unknown networks.
    assertFalse(SocketBuffers.isTooSmall(0, 65536));
    assertFalse(SocketBuffers.isTooSmall(32 << 10, 0));
  }
}
