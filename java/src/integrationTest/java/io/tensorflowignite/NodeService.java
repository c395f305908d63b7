package io.tensorflowignite;

import org.apache.ignite.Ignite;
import org.apache.ignite.services.ServiceConfiguration;

/** Our service on a node of a test. */
public final class NodeService {
  private NodeService() {}

  /** For the configuration of a node. */
  public static ServiceConfiguration of(TensorFlowService bean) {
    ServiceConfiguration service = new ServiceConfiguration();
    service.setName(TensorFlowService.NAME);
    service.setMaxPerNodeCount(1);
    service.setService(bean);
    return service;
  }

  /** The instance on this node, which serves or has failed. */
  public static TensorFlowService settled(Ignite node) {
    return Await.seen(
        "the service serves or fails",
        () -> {
          TensorFlowService service = deployed(node);
          boolean known =
              service != null && (service.address() != null || service.failure() != null);
          return known ? service : null;
        });
  }

  /** Where the node's API answers. */
  public static String address(Ignite node) {
    return Await.seen(
        "the service serves",
        () -> {
          TensorFlowService service = deployed(node);
          return service == null ? null : service.address();
        });
  }

  /** A proxy, which replaces the deprecated call, may lead to another node. */
  @SuppressWarnings("deprecation")
  private static TensorFlowService deployed(Ignite node) {
    return node.services().service(TensorFlowService.NAME);
  }
}
