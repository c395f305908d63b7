package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.ManagedChannel;
import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.StopJobRequest;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * A cluster in a rolling upgrade: a node of this version beside a node of a later one.
 *
 * <p>Promise (nodes): A node keeps what a later version has written, and acts on nothing that it
 * does not know.
 */
public class ItMixedVersions {
  private static final int LATER = 1000;
  private static final long TIMEOUT_S = 30;

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @Test
  public void aNodeKeepsFieldsOfALaterVersionAndLeavesItsJobsToTheNodesOfThatVersion()
      throws Exception {
    // More ports than nodes: another process may take one before the last node starts.
    LoopbackNodes nodes = new LoopbackNodes(8);
    LaterNode later;
    try (RowsNode node = new RowsNode(nodes, "present", FOLDER.newFolder().toPath())) {
      later = LaterNode.start(nodes, FOLDER.newFolder().toPath());
      try {
        assertIsLeftAsItIs(node);
      } catch (Throwable e) {
        later.close();
        throw e;
      }
    }
    // The node of this version has left.
    ManagedChannel channel = RowsNode.channel(later.address());
    try (LaterNode last = later) {
      GetJobRequest request = GetJobRequest.newBuilder().setJobId("later000").build();
      Job served =
          Await.nonNull(
              "the node of the later version serves the job",
              () -> {
                Job job = RowsNode.api(channel).getJob(request).getJob();
                return job.getServiceNodeId().isEmpty() ? null : job;
              });
      assertEquals(LATER, served.getStateValue());
      assertTrue(served.getStopRequested());
      assertNoteIsKept(served);
    } finally {
      channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS);
    }
  }

  private static void assertIsLeftAsItIs(RowsNode node) {
    Job before = row(node.ignite);
    assertEquals(JobState.UNRECOGNIZED, before.getState());
    assertNoteIsKept(before);

    Job other = Job.newBuilder().setId("other000").setState(JOB_STATE_PENDING).build();
    node.raw(SystemCache.JOBS).put(other.getId(), other.toByteArray());
    Await.until(
        "another job is served, and fails, as it has no cache",
        () -> node.described(other.getId()).getState() == JOB_STATE_FAILED);
    assertEquals(before, row(node.ignite));
    assertEquals(LATER, node.listed("later000").orElseThrow().getStateValue());

    // A request of a user is written into the row: the later version acts on it.
    node.api().stopJob(StopJobRequest.newBuilder().setJobId("later000").build());
    assertEquals(before.toBuilder().setStopRequested(true).build(), row(node.ignite));
  }

  private static void assertNoteIsKept(Job job) {
    assertEquals(
        "kept",
        job.getUnknownFields().getField(LATER).getLengthDelimitedList().get(0).toStringUtf8());
  }

  private static Job row(Ignite node) {
    try {
      return Job.parseFrom(
          (byte[]) node.<Object, Object>cache(SystemCache.JOBS.cacheName()).get("later000"));
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }
}
