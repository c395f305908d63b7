package io.tensorflowignite.agent;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.Duration;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.AgentServiceGrpc;
import io.tensorflowignite.v1.AgentStart;
import io.tensorflowignite.v1.HeartbeatRequest;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.PlanEndRequest;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.ReservePortsRequest;
import io.tensorflowignite.v1.RestartModelRequest;
import io.tensorflowignite.v1.StartModelRequest;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.StopAttemptRequest;
import io.tensorflowignite.v1.StopAttemptResponse;
import io.tensorflowignite.v1.StopModelRequest;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskProfile;
import io.tensorflowignite.v1.WatchRequest;
import io.tensorflowignite.v1.WatchResponse;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.ignite.IgniteLogger;

/** A running agent, and the node's calls to it. */
final class AgentConnection implements AutoCloseable {
  private static final long CALL_TIMEOUT_S = 20;
  private static final long STOP_MARGIN_S = 20;

  /** Of data that the agent may send before they are read; output comes in chunks of 64 KiB. */
  private static final int WINDOW_BYTES = 1 << 20;

  private final AgentProcess process;
  private final ManagedChannel channel;
  private final AgentServiceGrpc.AgentServiceBlockingStub calls;
  private final AgentServiceGrpc.AgentServiceFutureStub futures;
  private final Context.CancellableContext watching = Context.current().withCancellation();

  private AgentConnection(AgentProcess process, String secret) {
    this.process = process;
    this.channel =
        NettyChannelBuilder.forAddress("127.0.0.1", process.ready().getPort())
            .usePlaintext()
            // A fixed window: otherwise gRPC measures the connection by a ping for each message.
            .flowControlWindow(WINDOW_BYTES)
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .build();
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + secret);
    this.calls =
        AgentServiceGrpc.newBlockingStub(channel)
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    this.futures =
        AgentServiceGrpc.newFutureStub(channel)
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  /** Starts an agent. The calling thread must outlive the agent. */
  static AgentConnection open(String python, AgentStart start, IgniteLogger log)
      throws IOException {
    return new AgentConnection(AgentProcess.start(python, start, log), start.getSecret());
  }

  AgentInfo info() {
    return process.ready().getInfo();
  }

  /** Whether the agent has ended, or this connection was closed. */
  boolean hasEnded() {
    return process.onExit().isDone() || watching.isCancelled();
  }

  /** Returns true if the agent ended, or this connection was closed, within the timeout. */
  boolean awaitEnd(long timeoutMs) throws InterruptedException {
    try {
      process.onExit().get(timeoutMs, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return watching.isCancelled();
    } catch (ExecutionException e) {
      throw new IllegalStateException("the exit of a process cannot fail", e);
    }
  }

  /** Renews the leases; returns what the agent has now. */
  AgentInfo heartbeat(HeartbeatRequest request, long timeoutMs) {
    return calls.withDeadlineAfter(timeoutMs, TimeUnit.MILLISECONDS).heartbeat(request).getInfo();
  }

  private AgentServiceGrpc.AgentServiceBlockingStub call() {
    return calls.withDeadlineAfter(CALL_TIMEOUT_S, TimeUnit.SECONDS);
  }

  /** Returns one port for each task, in the order of the tasks. */
  List<Integer> reservePorts(List<TaskKey> tasks) {
    return call()
        .reservePorts(ReservePortsRequest.newBuilder().addAllTasks(tasks).build())
        .getPortsList();
  }

  void startTask(StartTaskRequest request) {
    call().startTask(request);
  }

  /** Passes the planned end of an attempt to its tasks. */
  void planEnd(String job, int attempt, PlannedEnd plan) {
    call()
        .planEnd(
            PlanEndRequest.newBuilder()
                .setJobId(job)
                .setAttempt(attempt)
                .setStep(plan.getStep())
                .setAgreed(plan.getAgreed())
                .build());
  }

  /** Passes a request for a profile to its task. */
  void profileTask(TaskProfile request) {
    call().profileTask(request);
  }

  /** Starts a model process, unless it runs. */
  void startModel(StartModelRequest request) {
    call().startModel(request);
  }

  /** Ends a model process, which is started again after a pause. */
  void restartModel(ModelKey key, String reason) {
    call().restartModel(RestartModelRequest.newBuilder().setKey(key).setReason(reason).build());
  }

  /** Ends a model process; returns when nothing of it is left. */
  void stopModel(ModelKey key) {
    call().stopModel(StopModelRequest.newBuilder().setKey(key).build());
  }

  /** Completes when all processes of the attempt have terminated. */
  ListenableFuture<StopAttemptResponse> stopAttempt(
      String job, int attempt, Duration grace, boolean dumpStacks) {
    return futures
        .withDeadlineAfter(grace.getSeconds() + STOP_MARGIN_S, TimeUnit.SECONDS)
        .stopAttempt(
            StopAttemptRequest.newBuilder()
                .setJobId(job)
                .setAttempt(attempt)
                .setGrace(grace)
                .setDumpStacks(dumpStacks)
                .build());
  }

  /** Passes every event to the listener, in order, until the agent ends or this is closed. */
  void watch(Consumer<WatchResponse> listener) {
    watching.run(
        () -> {
          try {
            Iterator<WatchResponse> events = calls.watch(WatchRequest.getDefaultInstance());
            while (events.hasNext()) {
              listener.accept(events.next());
            }
          } catch (StatusRuntimeException e) {
            Status.Code code = e.getStatus().getCode();
            if (code != Status.Code.UNAVAILABLE && code != Status.Code.CANCELLED) {
              throw e;
            }
          }
        });
  }

  /**
   * Ends an agent that does not answer. The next agent ends the remaining processes of its tasks.
   */
  void kill() {
    process.kill();
  }

  /** Ends the agent and its tasks. */
  @Override
  public void close() {
    watching.cancel(null);
    process.close();
    channel.shutdownNow();
  }
}
