package io.tensorflowignite.data.flight;

import static io.tensorflowignite.base.Refusals.assertRefused;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.junit.Test;

public class FlightRequestValidationTest {
  @Test
  public void aMessageOfMetadataAloneIsAccepted() throws Exception {
    check(3 << 3 | 2, 2, 'a', 'b');
  }

  @Test
  public void aLengthBeyondTheMessageIsRefused() {
    // A body of 2 GiB, of which 1 byte is there.
    refused("states a length of 2147483647 bytes", 0xc2, 0x3e, 0xff, 0xff, 0xff, 0xff, 7, 1);
    refused("states a length of 4294967295 bytes", 0xc2, 0x3e, 0xff, 0xff, 0xff, 0xff, 15, 1);
  }

  @Test
  public void partsThatAreDoubledUnknownOrCutAreRefused() {
    refused("a part twice", 0x1a, 1, 'a', 0x1a, 1, 'a');
    refused("unknown part", 0x2a, 1, 'a');
    refused("cut off", 0x1a);
    refused("without a header", 0xc2, 0x3e, 1, 'a');
    refused("its parts lie outside", 0x12, 1, 'a');
  }

  private static void refused(String why, int... bytes) {
    assertRefused(() -> check(bytes), why);
  }

  private static void check(int... bytes) throws IOException {
    try (BufferAllocator allocator = new RootAllocator()) {
      FlightRequestValidation.check(stream(bytes), allocator);
    }
  }

  private static ByteArrayInputStream stream(int... values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return new ByteArrayInputStream(bytes);
  }
}
