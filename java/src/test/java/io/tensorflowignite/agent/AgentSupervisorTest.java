package io.tensorflowignite.agent;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.AgentServiceGrpc;
import io.tensorflowignite.v1.AgentStart;
import io.tensorflowignite.v1.HeartbeatRequest;
import io.tensorflowignite.v1.HeartbeatResponse;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.WatchRequest;
import io.tensorflowignite.v1.WatchResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.logger.NullLogger;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The agent is a shell script that says that it is ready; a server of this process answers. */
public class AgentSupervisorTest {
  private static final long TIMEOUT_S = 20;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
  private final AtomicInteger watchers = new AtomicInteger();
  private final Semaphore heartbeats = new Semaphore(0);
  private volatile boolean silent;
  private volatile AgentInfo info = AgentInfo.getDefaultInstance();
  private Server server;

  @Before
  public void serve() throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new Agent())
            .build()
            .start();
  }

  @After
  public void endServer() throws InterruptedException {
    assertTrue(server.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
  }

  @Test
  public void eventsOfAFailedWatchAreRepeated() throws Exception {
    Listener listener =
        new Listener() {
          @Override
          public void event(WatchResponse event) {
            if (watchers.get() == 1) {
              throw new OutOfMemoryError("while the log table was written");
            }
            super.event(event);
          }
        };
    try (AgentSupervisor supervisor = supervisor(listener)) {
      supervisor.start();
      assertEquals("up", next());
      assertEquals("event 1", next());
      assertEquals("event 2", next());
    }
    assertTrue("a requested end must not be reported as a loss", calls.isEmpty());
  }

  @Test
  public void otherSparesOfAnAgentAreReportedOnce() throws Exception {
    BlockingQueue<Integer> spares = new LinkedBlockingQueue<>();
    info = AgentInfo.newBuilder().setPid(7).setWarmProcesses(1).build();
    Listener listener =
        new Listener() {
          @Override
          public void agentChanged(AgentInfo changed) {
            spares.add(changed.getWarmProcesses());
          }
        };
    try (AgentSupervisor supervisor = supervisor(listener)) {
      supervisor.start();
      assertEquals(Integer.valueOf(0), spares.poll(TIMEOUT_S, TimeUnit.SECONDS));
      assertEquals(Integer.valueOf(1), spares.poll(TIMEOUT_S, TimeUnit.SECONDS));
      heartbeats.drainPermits();
      assertTrue(heartbeats.tryAcquire(3, TIMEOUT_S, TimeUnit.SECONDS));
      assertTrue("the same spares are no change", spares.isEmpty());
      info = info.toBuilder().setWarmProcesses(2).build();
      assertEquals(Integer.valueOf(2), spares.poll(TIMEOUT_S, TimeUnit.SECONDS));
    }
  }

  @Test
  public void anErrorAtTheStartOfAnAgentIsFollowedByAnotherAgent() throws Exception {
    AtomicInteger agents = new AtomicInteger();
    Listener listener =
        new Listener() {
          @Override
          public void agentChanged(AgentInfo info) {
            if (agents.incrementAndGet() == 1) {
              throw new NoClassDefFoundError("while the node table was written");
            }
            super.agentChanged(info);
          }

          @Override
          public void event(WatchResponse event) {}
        };
    try (AgentSupervisor supervisor = supervisor(listener)) {
      supervisor.start();
      assertEquals("up", next());
      assertEquals(2, agents.get());
    }
  }

  @Test
  public void anAgentThatDoesNotAnswerIsKilledAndFollowedByAnother() throws Exception {
    silent = true;
    Listener listener =
        new Listener() {
          @Override
          public void event(WatchResponse event) {}

          @Override
          public void agentLost(String reason) {
            silent = false;
            super.agentLost(reason);
          }
        };
    try (AgentSupervisor supervisor = supervisor(listener)) {
      supervisor.start();
      assertEquals("up", next());
      String lost = next();
      assertTrue(lost, lost.endsWith("did not answer for 2 s, and was killed"));
      assertEquals("up", next());
    }
    assertTrue("" + calls, calls.isEmpty());
  }

  private AgentSupervisor supervisor(Listener listener) throws IOException {
    Path script = folder.getRoot().toPath().resolve("agent.sh");
    String ready = "{\"port\": " + server.getPort() + ", \"info\": {\"pid\": \"'$$'\"}}";
    Files.writeString(script, "#!/bin/sh\nread -r start\necho '" + ready + "'\ncat > /dev/null\n");
    assertTrue(script.toFile().setExecutable(true));
    AgentStart start = AgentStart.newBuilder().setLeaseTimeout(Durations.fromSeconds(1)).build();
    return new AgentSupervisor(
        script.toString(), start, listener, new Loops(new NullLogger()), new NullLogger());
  }

  private String next() throws InterruptedException {
    return calls.poll(TIMEOUT_S, TimeUnit.SECONDS);
  }

  private class Listener implements AgentSupervisor.Listener {
    @Override
    public void agentChanged(AgentInfo info) {
      calls.add(info.getError().isEmpty() ? "up" : "missing: " + info.getError());
    }

    @Override
    public void agentLost(String reason) {
      calls.add("lost: " + reason);
    }

    @Override
    public void event(WatchResponse event) {
      calls.add("event " + event.getKey().getIndex());
    }

    @Override
    public HeartbeatRequest heartbeat() {
      return HeartbeatRequest.getDefaultInstance();
    }
  }

  /** Sends two events to each watch, and then nothing. */
  private final class Agent extends AgentServiceGrpc.AgentServiceImplBase {
    @Override
    public void heartbeat(HeartbeatRequest request, StreamObserver<HeartbeatResponse> response) {
      if (!silent) {
        response.onNext(HeartbeatResponse.newBuilder().setInfo(info).build());
        response.onCompleted();
        heartbeats.release();
      }
    }

    @Override
    public void watch(WatchRequest request, StreamObserver<WatchResponse> response) {
      watchers.incrementAndGet();
      for (int index = 1; index <= 2; index++) {
        response.onNext(
            WatchResponse.newBuilder().setKey(TaskKey.newBuilder().setIndex(index)).build());
      }
    }
  }
}
