package io.tensorflowignite.rpc;

import static org.junit.Assert.assertTrue;

import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.base.RateLimitedLog;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

/** The turns of streams that read what they send. */
public class StreamCallThreadTest {
  private static final int TIMEOUT_S = 60;

  private final RateLimitedLog log = new RateLimitedLog(new NullLogger());

  @Test
  public void streamsWithMuchToSendLeaveTurnsToOthers() throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    try {
      for (int i = 0; i < 2 * ApiServer.largeThreads(); i++) {
        StreamCallThread.serve(
            new ReadyCall(),
            log,
            flow -> {
              while (!done.get()) {
                flow.inTurn(() -> sendAll(flow, done));
              }
            });
      }
      CompletableFuture<Boolean> turn = new CompletableFuture<>();
      StreamCallThread.serve(
          new ReadyCall(), log, flow -> flow.inTurn(() -> turn.complete(flow.isReadyAtOnce())));
      assertTrue(turn.get(TIMEOUT_S, TimeUnit.SECONDS));
    } finally {
      done.set(true);
    }
  }

  private static boolean sendAll(StreamCallThread flow, AtomicBoolean done)
      throws InterruptedException {
    while (!done.get()) {
      if (!flow.isReadyAtOnce()) {
        return false;
      }
      Thread.sleep(1);
    }
    return true;
  }

  /** A call whose receiver takes everything at once. */
  private static final class ReadyCall extends ServerCallStreamObserver<Object> {
    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {}

    @Override
    public void setCompression(String compression) {}

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}

    @Override
    public void onNext(Object message) {}

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onCompleted() {}
  }
}
