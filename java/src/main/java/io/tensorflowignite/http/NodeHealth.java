package io.tensorflowignite.http;

import java.util.List;

/** Whether a node works, and whether clients may call it. */
public interface NodeHealth {
  /** Whether the node works at all; otherwise it must be started again. It never waits. */
  List<HealthCheck> live();

  /** Whether clients may call the node. It may wait for a short time. */
  List<HealthCheck> ready();
}
