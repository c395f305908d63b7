package io.tensorflowignite.agent;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.predict.ModelProcesses;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.StartModelRequest;
import java.util.function.Consumer;

/** The model processes of the present agent. */
public final class AgentModels implements ModelProcesses {
  private final AgentSupervisor supervisor;

  public AgentModels(AgentSupervisor supervisor) {
    this.supervisor = supervisor;
  }

  @Override
  public boolean isReady() {
    return supervisor.agent().isPresent();
  }

  @Override
  public boolean start(StartModelRequest request) {
    return call(agent -> agent.startModel(request));
  }

  @Override
  public void restart(ModelKey key, String reason) {
    call(agent -> agent.restartModel(key, reason));
  }

  @Override
  public void stop(ModelKey key) {
    call(agent -> agent.stopModel(key));
  }

  /**
   * Calls the agent.
   *
   * @return false: the agent of the process has ended, or is ending; the next one ends the
   *     remaining processes before it answers
   */
  private boolean call(Consumer<AgentConnection> call) {
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      return false;
    }
    try {
      call.accept(agent);
      return true;
    } catch (StatusRuntimeException e) {
      Status.Code code = e.getStatus().getCode();
      if (code == Status.Code.UNAVAILABLE || code == Status.Code.ABORTED) {
        return false;
      }
      throw e;
    }
  }
}
