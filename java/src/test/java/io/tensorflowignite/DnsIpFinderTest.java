package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.spi.IgniteSpiException;
import org.junit.Test;

/** Names that a machine has, and names of others. */
public class DnsIpFinderTest {
  /** An address for documents, which no machine has. */
  private static final String OTHER = "192.0.2.7:47500";

  private int pauses;
  private int seconds;
  private int secondsOfDns;
  private List<String> later = List.of(OTHER);

  private final DnsIpFinder finder =
      new DnsIpFinder() {
        @Override
        void pause() {
          pauses++;
          seconds += 1 + secondsOfDns;
          setAddresses(later);
        }

        @Override
        long nanoTime() {
          return TimeUnit.SECONDS.toNanos(seconds);
        }
      };

  @Test
  public void aNodeThatStartsWaitsUntilTheNameHasItsOwnAddress() {
    finder.setAddresses(List.of(OTHER));
    later = List.of("localhost:47500", OTHER);
    assertTrue(finder.getRegisteredAddresses().contains(new InetSocketAddress("127.0.0.1", 47500)));
    assertEquals("of others too", 2, finder.getRegisteredAddresses().size());
    assertEquals(1, pauses);

    finder.setAddresses(List.of(OTHER));
    assertThrows(IgniteSpiException.class, finder::getRegisteredAddresses);
    assertEquals("Ignite itself tries again", 1, pauses);
  }

  @Test
  public void aNameThatStaysWithoutTheAddressOfTheNodeIsAnError() {
    finder.setAddresses(List.of(OTHER));
    IgniteSpiException refused =
        assertThrows(IgniteSpiException.class, finder::getRegisteredAddresses);
    assertTrue(refused.getMessage(), refused.getMessage().contains("192.0.2.7:47500"));
    assertEquals(60, pauses);
  }

  @Test
  public void aSlowDnsDoesNotMakeTheWaitLonger() {
    finder.setAddresses(List.of(OTHER));
    secondsOfDns = 19;
    assertThrows(IgniteSpiException.class, finder::getRegisteredAddresses);
    assertEquals(3, pauses);
  }
}
