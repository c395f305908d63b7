package io.tensorflowignite.node;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.Node;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import org.junit.Test;

public class ClusterHostsTest {
  private final ClusterHosts hosts =
      new ClusterHosts(
          () -> Set.of("10.0.0.1"),
          () ->
              ClusterHosts.resolved(
                  List.of(node("192.0.2.1:18400"), node("[2001:db8::1]:18400"), node("no:host:"))),
          1);

  @Test
  public void addressesOfIgniteAndOfTheNodeTableAreOfTheCluster() {
    for (String address : List.of("127.0.0.1", "10.0.0.1", "192.0.2.1", "2001:db8::1")) {
      assertTrue(address, hosts.test(new InetSocketAddress(address, 1)));
    }
    assertFalse(hosts.test(new InetSocketAddress("192.0.2.2", 1)));
    assertFalse(hosts.test(InetSocketAddress.createUnresolved("10.0.0.1", 1)));
  }

  @Test
  public void namesAreResolved() {
    Set<InetAddress> local = ClusterHosts.resolved(List.of(node("localhost:1")));
    assertFalse(local.isEmpty());
    assertTrue(local.stream().allMatch(InetAddress::isLoopbackAddress));
  }

  private static Node node(String address) {
    return Node.newBuilder().setAddress(address).build();
  }
}
