package io.tensorflowignite.predict;

import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.StartModelRequest;

/** The model processes of this node's agent. */
public interface ModelProcesses {
  /** Whether there is an agent. It has emptied its directory before. */
  boolean isReady();

  /** Starts a process, unless it runs; false: there is no agent now. */
  boolean start(StartModelRequest request);

  /** Ends a process that is at fault; it is started again after a pause. */
  void restart(ModelKey key, String reason);

  /** Ends a process; returns when nothing of it is left, or there is no agent. */
  void stop(ModelKey key);
}
