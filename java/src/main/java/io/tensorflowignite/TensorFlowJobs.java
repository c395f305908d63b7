package io.tensorflowignite;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Jobs that train: an interface of the service {@link TensorFlowService#NAME} on each node. A proxy
 * for it calls any node, from a server, a client node or a thin client:
 *
 * <pre>{@code
 * TensorFlowJobs jobs =
 *     ignite.services().serviceProxy(TensorFlowService.NAME, TensorFlowJobs.class, false);
 * String id =
 *     jobs.submit(
 *         Map.of("train.py", Files.readString(Path.of("train.py"))),
 *         Map.of("cache", "images", "args", List.of("--epochs", "3"), "workers.per_node", 2));
 * String state = TensorFlowJobs.await(jobs, id, 3_600_000);
 * }</pre>
 *
 * <p>Calls pass the checks of the node API, and their errors have its texts, with {@code
 * [code=NAME]} at their end. A job is named by its id, or by at least its first 4 characters.
 *
 * <p>A job, as a map, has the fields of {@code tensorflow-ignite describe --json}: texts, {@link
 * Long}, {@link Double}, {@link Boolean}, lists and maps; times as ISO 8601 in UTC. A field without
 * a value is left out.
 */
public interface TensorFlowJobs {
  /** The most bytes of output that one call returns. */
  int MAX_OUTPUT_BYTES = 256 << 10;

  /** As the other method, where each call makes a job of its own. */
  String submit(Map<String, ?> files, Map<String, ?> options);

  /**
   * Submits a job.
   *
   * @param files the code: the content of each file, a {@link String} or a {@code byte[]}, by its
   *     name, a relative path with {@code /}
   * @param options the options of a job by their names, as in docs/jobs.md: {@code
   *     "workers.per_node"} with its value, or {@code "workers"} with a map of its options, as a
   *     parser of YAML or JSON reads them from a job file. Numbers, booleans and times may be
   *     texts: {@code "10m"}. The option {@code script} is the name of one of the files; by default
   *     the only one, main.py or train.py. {@code environment.requirements} and {@code
   *     environment.wheels} name files too
   * @param requestId the same id makes one job, also if the call is repeated: for example, a UUID
   * @return the id of the job
   */
  String submit(Map<String, ?> files, Map<String, ?> options, String requestId);

  /** A job with its attempts, tasks and events. */
  Map<String, Object> describe(String job);

  /**
   * Summaries of jobs, newest first.
   *
   * @param limit the largest number of jobs, from 1 to 1000
   */
  List<Map<String, Object>> list(int limit);

  /** The state of a job: {@code running}; see {@link #isOver}. */
  String state(String job);

  /** Requests the end of a job, and returns its state. */
  String stop(String job);

  /**
   * Requests the end of a job, and returns its state.
   *
   * @param save its tasks save after a common step before they end, if their script can
   * @param force the job ends although processes of it may still run, if their end is not proven in
   *     time; their nodes get no tasks until it is
   */
  String stop(String job, boolean save, boolean force);

  /**
   * A part of the output of one task, over all attempts of the job.
   *
   * <p>The map has {@code text}, at most {@link #MAX_OUTPUT_BYTES} of it; {@code position}, for the
   * next call; {@code droppedBytes}, the bytes that are left out before the text or in it, since
   * the cluster no longer has them; and {@code complete}, whether nothing follows. Without {@code
   * complete} and without text, there may be more later: call it again after a second. Each call
   * reads the output of one attempt from its begin.
   *
   * @param task {@code ROLE:INDEX}, such as {@code worker:0}
   * @param position of the answer before; empty: from the begin
   */
  Map<String, Object> output(String job, String task, String position);

  /** Whether a state is one of a job that is over. */
  static boolean isOver(String state) {
    return List.of("succeeded", "failed", "stopped").contains(state);
  }

  /**
   * Asks for the state of a job twice a second until the job is over, and returns the state; also
   * if the job is not over in time. The caller waits, and no thread of a node.
   *
   * @param timeoutMillis the longest time that the caller waits
   */
  static String await(TensorFlowJobs jobs, String job, long timeoutMillis)
      throws InterruptedException {
    long begin = System.nanoTime();
    long timeoutNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    String state = jobs.state(job);
    while (!isOver(state) && System.nanoTime() - begin < timeoutNanos) {
      Thread.sleep(500);
      state = jobs.state(job);
    }
    return state;
  }
}
