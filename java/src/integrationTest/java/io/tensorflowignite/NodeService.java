package io.tensorflowignite;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.services.ServiceConfiguration;

/** The service on a node of a test. */
public final class NodeService {
  private NodeService() {}

  public static ServiceConfiguration of(TensorFlowService bean) {
    ServiceConfiguration service = new ServiceConfiguration();
    service.setName(TensorFlowService.NAME);
    service.setMaxPerNodeCount(1);
    service.setService(bean);
    return service;
  }

  /** Waits until the service on this node serves or has failed, and returns it. */
  public static TensorFlowService settled(Ignite node) {
    return Await.nonNull(
        "the service serves or fails",
        () -> {
          TensorFlowService service = deployed(node);
          boolean known =
              service != null && (service.address() != null || service.failure() != null);
          return known ? service : null;
        });
  }

  /** Waits for the node's API, and returns its address. */
  public static String address(Ignite node) {
    return Await.nonNull(
        "the service serves",
        () -> {
          TensorFlowService service = deployed(node);
          return service == null ? null : service.address();
        });
  }

  /** Fails if threads of services go on although their nodes are closed. */
  public static void awaitNoThreads() {
    AtomicReference<List<String>> left = new AtomicReference<>();
    try {
      Await.until(
          "the threads end",
          () -> {
            left.set(
                Thread.getAllStackTraces().entrySet().stream()
                    .filter(thread -> thread.getKey().getName().startsWith("tensorflow-ignite-"))
                    .map(thread -> thread.getKey() + " in " + Arrays.toString(thread.getValue()))
                    .collect(Collectors.toList()));
            return left.get().isEmpty();
          });
    } catch (AssertionError late) {
      throw new AssertionError("threads of the service are left: " + left, late);
    }
  }

  /** The proxy that replaces the deprecated call may call another node. */
  @SuppressWarnings("deprecation")
  private static TensorFlowService deployed(Ignite node) {
    return node.services().service(TensorFlowService.NAME);
  }
}
