package io.tensorflowignite;

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

  /** The proxy that replaces the deprecated call may call another node. */
  @SuppressWarnings("deprecation")
  private static TensorFlowService deployed(Ignite node) {
    return node.services().service(TensorFlowService.NAME);
  }
}
