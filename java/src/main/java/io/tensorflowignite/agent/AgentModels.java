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
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      return false;
    }
    try {
      agent.startModel(request);
      return true;
    } catch (StatusRuntimeException e) {
      if (isEnding(e)) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public void restart(ModelKey key, String reason) {
    call(agent -> agent.restartModel(key, reason));
  }

  @Override
  public void stop(ModelKey key) {
    call(agent -> agent.stopModel(key));
  }

  private void call(Consumer<AgentConnection> call) {
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      // The agent of the process has ended. The next agent ends the remaining processes before it
      // answers.
      return;
    }
    try {
      call.accept(agent);
    } catch (StatusRuntimeException e) {
      if (!isEnding(e)) {
        throw e;
      }
    }
  }

  private static boolean isEnding(StatusRuntimeException e) {
    Status.Code code = e.getStatus().getCode();
    return code == Status.Code.UNAVAILABLE || code == Status.Code.ABORTED;
  }
}
