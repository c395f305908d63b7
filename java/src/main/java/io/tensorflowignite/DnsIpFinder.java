package io.tensorflowignite;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collection;
import org.apache.ignite.spi.IgniteSpiException;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * The addresses of nodes behind names of DNS, such as a headless service of Kubernetes. A node
 * joins only when the name has its own address too: then the name has the addresses of all nodes
 * that started before. Otherwise nodes that start together, before DNS knows any, would be clusters
 * of their own, which never join.
 *
 * <p>Ignite tries again after each error. So a node waits until the name is complete.
 */
public final class DnsIpFinder extends TcpDiscoveryVmIpFinder {
  @Override
  public synchronized Collection<InetSocketAddress> getRegisteredAddresses() {
    Collection<InetSocketAddress> all = super.getRegisteredAddresses();
    if (all.stream().noneMatch(address -> isHere(address.getAddress()))) {
      throw new IgniteSpiException(
          "No address of this machine is among the addresses of the cluster's nodes: "
              + all
              + ". A node joins when DNS has its address, so that it finds the nodes before it."
              + " If this goes on, correct the name of the service, or its selector.");
    }
    return all;
  }

  /** An address that could not be found is null. */
  private static boolean isHere(InetAddress address) {
    try {
      return address != null && NetworkInterface.getByInetAddress(address) != null;
    } catch (SocketException e) {
      throw new IgniteSpiException("The addresses of this machine cannot be read", e);
    }
  }
}
