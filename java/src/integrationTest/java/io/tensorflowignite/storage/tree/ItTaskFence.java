package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ATTEMPT_SUPERSEDED;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static org.apache.ignite.transactions.TransactionConcurrency.OPTIMISTIC;
import static org.apache.ignite.transactions.TransactionIsolation.SERIALIZABLE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.apache.ignite.Ignite;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionOptimisticException;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;

/** What a change of files by a task reads, and with which changes of its job it conflicts. */
public class ItTaskFence {
  @ClassRule public static final PlainNodes NODES = PlainNodes.shared();

  private static Ignite node;
  private static JobTable jobs;
  private static TaskFence fence;

  @BeforeClass
  public static void openTables() {
    node = NODES.node(0);
    jobs = new JobTable(node);
    fence = new TaskFence(node);
  }

  @Before
  public void insertJob() {
    jobs.force("job");
    jobs.insert(Job.newBuilder().setId("job").setState(JobState.JOB_STATE_PENDING).build());
    jobs.update("job", job -> withAttempt(job));
  }

  @Test
  public void progressOfAJobDoesNotConflictWithChangesOfFiles() {
    commitAfter(
        job -> {
          Job.Builder changed = job.toBuilder().addEvents(Event.newBuilder().setText("a line"));
          changed
              .getAttemptsBuilder(0)
              .setLastStep(7)
              .getTasksBuilder(0)
              .setStatus(TaskStatus.newBuilder().setProgress(Progress.newBuilder().setStep(7)));
          return changed.build();
        });
  }

  @Test
  public void aNewAttemptOrIncarnationConflictsWithChangesOfFiles() {
    assertThrows(TransactionOptimisticException.class, () -> commitAfter(job -> withAttempt(job)));
    assertSuperseded(task(1, 0), "the job is at attempt 2");
    fence.require(task(2, 0));
    assertThrows(
        TransactionOptimisticException.class,
        () -> commitAfter(task(2, 0), job -> withIncarnation(job, 1)));
    assertSuperseded(task(2, 0), "the task is at incarnation 1");
    fence.require(task(2, 1));
    jobs.force("job");
    assertSuperseded(task(2, 1), "there is no such job");
    assertFalse(node.cache(SystemCache.FENCES.cacheName()).containsKey("job"));
  }

  @Test
  public void withoutAReadableFenceNoTaskChangesFiles() {
    node.<String, byte[]>cache(SystemCache.FENCES.cacheName()).put("job", new byte[] {1, 2, 3});
    assertSuperseded(task(1, 0), "there is no such job");
    node.cache(SystemCache.FENCES.cacheName()).clear();
    assertSuperseded(task(1, 0), "there is no such job");
    jobs.update("job", job -> withAttempt(job));
    fence.require(task(2, 0));
  }

  private static void commitAfter(UnaryOperator<Job> change) {
    commitAfter(task(1, 0), change);
  }

  /** Commits a change of files by a task, while the job's row changes. */
  private static void commitAfter(TaskKey task, UnaryOperator<Job> change) {
    try (Transaction tx = node.transactions().txStart(OPTIMISTIC, SERIALIZABLE)) {
      fence.require(task);
      CompletableFuture.runAsync(() -> jobs.update("job", change)).join();
      tx.commit();
    }
  }

  private static void assertSuperseded(TaskKey task, String reason) {
    TensorFlowIgniteException error =
        assertThrows(TensorFlowIgniteException.class, () -> fence.require(task));
    assertEquals(ERROR_CODE_ATTEMPT_SUPERSEDED, error.code());
    assertTrue(error.getMessage(), error.getMessage().contains(reason));
  }

  private static Job withAttempt(Job job) {
    int number = job.getAttemptsCount() == 0 ? 1 : newest(job).getNumber() + 1;
    Attempt.Builder attempt = Attempt.newBuilder().setNumber(number);
    attempt.addTasks(Task.newBuilder().setRole(ROLE_WORKER));
    attempt.addTasks(Task.newBuilder().setRole(ROLE_CLIENT));
    return job.toBuilder().addAttempts(attempt).build();
  }

  private static Attempt newest(Job job) {
    return job.getAttempts(job.getAttemptsCount() - 1);
  }

  private static Job withIncarnation(Job job, int incarnation) {
    Job.Builder changed = job.toBuilder();
    changed
        .getAttemptsBuilder(job.getAttemptsCount() - 1)
        .getTasksBuilder(0)
        .setIncarnation(incarnation);
    return changed.build();
  }

  private static TaskKey task(int attempt, int incarnation) {
    return TaskKey.newBuilder()
        .setJobId("job")
        .setAttempt(attempt)
        .setRole(ROLE_WORKER)
        .setIncarnation(incarnation)
        .build();
  }
}
