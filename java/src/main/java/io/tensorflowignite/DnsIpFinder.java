package io.tensorflowignite;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.spi.IgniteSpiException;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * The addresses of nodes behind names of DNS, such as a headless service of Kubernetes. A node
 * joins only when the name has its own address too: then the name has the addresses of all nodes
 * that started before. Otherwise nodes that start together, before DNS knows any, would be clusters
 * of their own, which never join.
 *
 * <p>The first call waits until the name is complete, for a minute at most: Ignite ends the node if
 * it fails, and tries again after an error of a later one.
 */
public class DnsIpFinder extends TcpDiscoveryVmIpFinder {
  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private volatile boolean hasBegun;

  @Override
  public Collection<InetSocketAddress> getRegisteredAddresses() {
    // A question to DNS may take longer than the pauses.
    long begin = nanoTime();
    while (true) {
      Collection<InetSocketAddress> all = super.getRegisteredAddresses();
      if (all.stream().anyMatch(address -> isHere(address.getAddress()))) {
        hasBegun = true;
        return all;
      }
      if (hasBegun || nanoTime() - begin >= PATIENCE_NANOS) {
        throw new IgniteSpiException(
            "No address of this machine is among the addresses of the cluster's nodes: "
                + all
                + ". A node joins when DNS has its address, so that it finds the nodes before it."
                + " If this goes on, correct the name of the service, or its selector.");
      }
      pause();
    }
  }

  long nanoTime() {
    return System.nanoTime();
  }

  /** Waits a second between two questions to DNS. */
  void pause() {
    try {
      Thread.sleep(1_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IgniteSpiException("The start of the node was interrupted", e);
    }
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
