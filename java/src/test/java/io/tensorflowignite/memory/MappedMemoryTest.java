package io.tensorflowignite.memory;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SHARING_UNAVAILABLE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.rpc.LocalHostInterceptor;
import java.io.RandomAccessFile;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class MappedMemoryTest {
  @Rule public TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void aFileThatIsNoMemoryOfAClientIsNeitherOpenedNorChanged() throws Exception {
    Path victim = folder.newFile("victim").toPath();
    byte[] content = new byte[4096];
    Files.write(victim, content);
    try (RandomAccessFile open = new RandomAccessFile(victim.toFile(), "rw")) {
      int pid = (int) ProcessHandle.current().pid();
      int found = 0;
      for (int fd = 0; fd < 1_024; fd++) {
        Path link = Path.of("/proc/self/fd/" + fd);
        if (Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(victim)) {
          int number = fd;
          assertRefused(
              ERROR_CODE_SHARING_UNAVAILABLE,
              () -> MappedMemory.open(pid, number, 4096, new byte[16]));
          found++;
        }
      }
      assertTrue(found > 0);
      assertEquals(4096, open.length());
    }
  }

  @Test
  public void onlyConnectionsFromThisHostAreLocal() {
    InetSocketAddress loopback = new InetSocketAddress("127.0.0.1", 1);
    InetSocketAddress here = new InetSocketAddress("192.0.2.1", 2);
    InetSocketAddress elsewhere = new InetSocketAddress("192.0.2.2", 3);
    assertTrue(LocalHostInterceptor.isLocal(loopback, loopback));
    assertTrue(LocalHostInterceptor.isLocal(new InetSocketAddress("192.0.2.1", 9), here));
    assertFalse(LocalHostInterceptor.isLocal(elsewhere, here));
    assertFalse(LocalHostInterceptor.isLocal(null, here));
  }
}
