package io.tensorflowignite.job;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.Await;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.ReportReceipt;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.Ignite;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;

/** Messages about tasks and their output between two real nodes. */
public class ItReports {
  @ClassRule public static final PlainNodes NODES = PlainNodes.shared();

  private static Ignite serving;
  private static Ignite running;

  @BeforeClass
  public static void nameNodes() {
    serving = NODES.node(0);
    running = NODES.node(1);
  }

  @Test
  public void aReportOfAServedJobIsConfirmedAndTheNewestOneCounts() {
    List<ReportReceipt> receipts = new CopyOnWriteArrayList<>();
    running
        .message()
        .localListen(ReportInbox.RECEIPTS, (node, message) -> receipts.add(receipt(message)));
    ReportInbox inbox = ReportInbox.of(serving);
    AtomicInteger wakes = new AtomicInteger();
    try (ReportInbox.ServedJob job = inbox.serve("served", wakes::incrementAndGet)) {
      send(report("served", 2, 7));
      send(report("other", 2, 8));
      Await.until("the receipt has come", () -> receipts.size() == 1);
      assertEquals("served", receipts.get(0).getJobId());
      assertEquals(7, receipts.get(0).getRevision());
      assertFalse(receipts.get(0).getWatched());
      send(report("served", 1, 9));
      send(report("served", 2, 5));
      Await.until("older reports are confirmed too", () -> receipts.size() == 3);
      Attempt newest = Attempt.newBuilder().setNumber(2).build();
      Map<String, NodeReport> reports = job.of(newest);
      assertEquals(Set.of(id(running)), reports.keySet());
      assertEquals(7, reports.get(id(running)).getRevision());
      assertEquals(1, wakes.get());

      job.observed(Job.newBuilder().setId("served").setCrashes(3).build());
      assertEquals(3, inbox.observe("served").orElseThrow().getCrashes());
      send(report("served", 2, 10));
      Await.until("the receipt says that the job is watched", () -> receipts.size() == 4);
      assertTrue(receipts.get(3).getWatched());
    }
    assertTrue(inbox.observe("served").isEmpty());
  }

  @Test
  public void newsOfOutputReachTheNodesThatFollowItAndNoOthers() {
    Set<TaskKey> heard = ConcurrentHashMap.newKeySet();
    TaskKey followed = key("followed");
    TaskKey other = key("other");
    try (OutputNews here = OutputNews.open(serving);
        OutputNews there = OutputNews.open(running);
        OutputNews.Follower follower = here.follow("followed", heard::add)) {
      there.stored(followed);
      Attempt attempt =
          Attempt.newBuilder()
              .addTasks(Task.newBuilder().setNodeId(id(running)))
              .addTasks(Task.newBuilder().setNodeId(id(serving)))
              .build();
      follower.renew(attempt);
      Await.until(
          "the news has come",
          () -> {
            there.stored(other);
            there.stored(followed);
            return !heard.isEmpty();
          });
      Await.until(
          "the news of this node has come",
          () -> {
            follower.renew(attempt);
            here.stored(followed.toBuilder().setIndex(1).build());
            return heard.size() == 2;
          });
      assertEquals(Set.of(followed, followed.toBuilder().setIndex(1).build()), heard);
    }
  }

  private static TaskKey key(String job) {
    return TaskKey.newBuilder().setJobId(job).setAttempt(1).setRole(Role.ROLE_WORKER).build();
  }

  private static NodeReport report(String job, int attempt, long revision) {
    return NodeReport.newBuilder()
        .setJobId(job)
        .setAttempt(attempt)
        .setNodeId(id(running))
        .setReached(revision == 7 ? ATTEMPT_PHASE_STOP : ATTEMPT_PHASE_RUN)
        .setRevision(revision)
        .build();
  }

  private static void send(NodeReport report) {
    running
        .message(running.cluster().forNodeId(serving.cluster().localNode().id()))
        .send(ReportInbox.REPORTS, report.toByteArray());
  }

  private static ReportReceipt receipt(Object message) {
    try {
      return ReportReceipt.parseFrom((byte[]) message);
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private static String id(Ignite node) {
    return node.cluster().localNode().id().toString();
  }
}
