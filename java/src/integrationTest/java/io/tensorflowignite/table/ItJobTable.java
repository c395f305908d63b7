package io.tensorflowignite.table;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.EndedAttempt;
import io.tensorflowignite.v1.Environment;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.junit.After;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;

/**
 * The rows of jobs in the tables of two real nodes.
 *
 * <p>Promise (jobs): The row of a job does not grow with its attempts, progress or readers.
 *
 * <p>Promise (nodes): Rows stay readable for an earlier version until its last node has left.
 */
public class ItJobTable {
  @ClassRule public static final PlainNodes NODES = PlainNodes.shared();

  private static Ignite node;
  private static Ignite other;
  private static JobTable jobs;
  private static JobHistory history;

  @BeforeClass
  public static void openTables() {
    node = NODES.node(0);
    other = NODES.node(1);
    jobs = new JobTable(node);
    history = new JobHistory(node);
  }

  @After
  public void clear() {
    for (SystemCache cache : SystemCache.values()) {
      cache.open(node).clear();
    }
  }

  @Test
  public void aRowHasTheNewestAttemptAloneAndTheHistoryTheOthersWithTheirEvents() {
    jobs.insert(job("grown").build());
    for (int attempt = 1; attempt <= 40; attempt++) {
      jobs.update("grown", ItJobTable::withNextAttempt);
    }
    Job row = jobs.row("grown").orElseThrow();
    assertEquals(JobLayout.CURRENT, row.getLayout());
    assertEquals(List.of(40), numbers(row.getAttemptsList()));
    assertEquals(List.of(40L), eventNumbers(row.getEventsList()));
    assertTrue("bytes " + row.getSerializedSize(), row.getSerializedSize() < 300);

    Job read = new JobTable(other).get("grown").orElseThrow();
    JobHistory fromOther = new JobHistory(other);
    assertEquals(40, fromOther.attempts(read).size());
    assertEquals(List.of(38, 39), numbers(fromOther.since(read, 38)));
    for (EndedAttempt ended : history.before(row, Long.MAX_VALUE, 3)) {
      assertEquals(
          List.of((long) ended.getAttempt().getNumber()), eventNumbers(ended.getEventsList()));
    }
    assertEquals(1, history.before(row, 1, 100).size());
  }

  @Test
  public void aFinishedJobIsASummaryOnEveryNodeAndItsRecordInTheHistory() {
    jobs.insert(
        job("over")
            .setSpec(
                JobSpec.newBuilder()
                    .setName("n")
                    .setEnvironment(Environment.newBuilder().putVariables("A", "b")))
            .build());
    jobs.update("over", ItJobTable::withNextAttempt);
    jobs.update("over", ItJobTable::withNextAttempt);
    try (JobIndex index = JobIndex.open(other, id -> {})) {
      assertEquals(1, index.current().size());
      assertTrue(jobs.finish("over", job -> job.toBuilder().setState(JOB_STATE_STOPPED).build()));
      assertEquals(List.of(), index.current());
      Job summary = index.finished().get(0);
      assertEquals(JOB_STATE_STOPPED, summary.getState());
      assertEquals("n", summary.getSpec().getName());
      assertEquals(0, summary.getSpec().getEnvironment().getVariablesCount());
      assertEquals(2, summary.getAttempts(0).getNumber());
    }
    assertFalse(jobs.row("over").isPresent());
    Job found = new JobTable(other).get("over").orElseThrow();
    assertEquals("b", found.getSpec().getEnvironment().getVariablesOrThrow("A"));
    assertEquals(List.of(1, 2), numbers(history.attempts(found)));
    assertFalse("the id is used", jobs.insert(job("over").build()));
    assertFalse(jobs.update("over", job -> job).isPresent());

    SystemCache.HISTORY.open(node).remove("over");
    assertEquals("n", jobs.get("over").orElseThrow().getSpec().getName());
    jobs.remove(found);
    assertFalse(jobs.get("over").isPresent());
    assertEquals(0, SystemCache.HISTORY.open(node).size());
  }

  @Test
  public void theIndexHasEveryRowThatIsPutChangedOrRemoved() {
    try (JobIndex index = JobIndex.open(node, id -> {})) {
      for (int i = 0; i < 50; i++) {
        jobs.insert(job("job" + i).build());
      }
      assertEquals(50, index.current().size());
      jobs.update("job7", job -> job.toBuilder().setState(JOB_STATE_RUNNING).build());
      assertEquals(JOB_STATE_RUNNING, index.current("job7").orElseThrow().getState());
      assertEquals(List.of(), index.withTasksOn("n1"));
      jobs.update("job7", ItJobTable::withNextAttempt);
      assertEquals("job7", index.withTasksOn("n1").get(0).getId());
      raw().put("wrong", new byte[] {1, 2, 3});
      assertEquals(51, index.current().size());
      jobs.force("job7");
      assertFalse(index.current("job7").isPresent());
      raw().clear();
      assertEquals(List.of(), index.current());
    }
  }

  private static Job withNextAttempt(Job job) {
    int count = job.getAttemptsCount();
    int number = count == 0 ? 1 : job.getAttempts(count - 1).getNumber() + 1;
    return job.toBuilder()
        .addAttempts(
            Attempt.newBuilder()
                .setNumber(number)
                .addTasks(Task.newBuilder().setRole(Role.ROLE_WORKER).setNodeId("n1")))
        .addEvents(Event.newBuilder().setNumber(number).setAttempt(number).setText("it begins"))
        .build();
  }

  private static List<Integer> numbers(List<Attempt> attempts) {
    return attempts.stream().map(Attempt::getNumber).collect(Collectors.toList());
  }

  private static List<Long> eventNumbers(List<Event> events) {
    return events.stream().map(Event::getNumber).collect(Collectors.toList());
  }

  private static Job.Builder job(String id) {
    return Job.newBuilder().setId(id).setState(JOB_STATE_PENDING);
  }

  private static IgniteCache<String, byte[]> raw() {
    return SystemCache.JOBS.open(node);
  }
}
