package io.tensorflowignite.plain;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;

import com.google.common.hash.Hashing;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.ByteString;
import com.google.protobuf.util.Durations;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.security.ServiceCallers;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.GetJobResponse;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListJobsResponse;
import io.tensorflowignite.v1.NodeApiServiceGrpc.AsyncService;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.StopJobResponse;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.SubmitJobRequest;
import io.tensorflowignite.v1.SubmitJobResponse;
import io.tensorflowignite.v1.UploadCodeRequest;
import io.tensorflowignite.v1.UploadCodeResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.ignite.IgniteLogger;

/**
 * Jobs for callers of the Ignite service. A call becomes calls of the node API, with the
 * permissions of its caller. They run on threads of their own: on Ignite's threads for services,
 * the node itself would act with the caller's permissions for caches.
 */
public final class PlainJobs implements AutoCloseable {
  private static final int THREADS = 8;
  private static final int MAX_WAITING = 64;
  private static final long TIMEOUT_MS = 60_000;
  private static final int CHUNK_BYTES = 1 << 20;

  /** The time until every task runs, when nodes install packages first. */
  private static final int INSTALL_S = 900;

  private final AsyncService api;
  private final Supplier<Context> caller;
  private final RateLimitedLog log;
  private final long timeoutMs;
  private final ThreadPoolExecutor threads =
      IdleThreads.pool("tensorflow-ignite-plain-%d", THREADS, MAX_WAITING);

  /**
   * @param api the node API
   */
  public PlainJobs(AsyncService api, ServiceCallers callers, IgniteLogger log) {
    this(
        api,
        () -> callers.context("Calls for jobs by Ignite's services", "Submit jobs"),
        log,
        TIMEOUT_MS);
  }

  /**
   * @param caller a context with the caller of the present method
   * @param timeoutMs how long a caller waits
   */
  PlainJobs(AsyncService api, Supplier<Context> caller, IgniteLogger log, long timeoutMs) {
    this.api = api;
    this.caller = caller;
    this.log = new RateLimitedLog(log);
    this.timeoutMs = timeoutMs;
  }

  /** Submits a job; returns its id. */
  public String submit(Map<String, ?> files, Map<String, ?> options, String requestId) {
    return call(
        () -> {
          requireNamed("files", files);
          requireNamed("options", options);
          JobSpec.Builder spec = PlainOptions.read(options);
          PlainCode code = new PlainCode(files);
          code.complete(spec);
          boolean installs =
              spec.getEnvironment().getWheelsCount() > 0
                  || !spec.getEnvironment().getRequirements().isEmpty();
          if (installs && !spec.getTimeouts().hasStart()) {
            spec.getTimeoutsBuilder().setStart(Durations.fromSeconds(INSTALL_S));
          }
          byte[] archive = code.archive();
          spec.setCodeDigest(Hashing.sha256().hashBytes(archive).toString());
          upload(spec.getCodeDigest(), archive);
          SubmitJobRequest request =
              SubmitJobRequest.newBuilder().setRequestId(id(requestId)).setSpec(spec).build();
          SubmitJobResponse submitted = one(api::submitJob, request);
          return submitted.getJob().getId();
        });
  }

  /** Submits a job, also if this call is repeated. */
  public String submit(Map<String, ?> files, Map<String, ?> options) {
    return submit(files, options, UUID.randomUUID().toString());
  }

  /** The job as a map. */
  public Map<String, Object> describe(String job) {
    return call(() -> PlainValues.of(find(job)));
  }

  /** The state of the job. */
  public String state(String job) {
    return call(() -> state(find(job)));
  }

  /** Summaries of the newest jobs. */
  public List<Map<String, Object>> list(int limit) {
    return call(
        () -> {
          ListJobsRequest request = ListJobsRequest.newBuilder().setPageSize(limit).build();
          ListJobsResponse page = one(api::listJobs, request);
          List<Map<String, Object>> jobs = new ArrayList<>();
          page.getJobsList().forEach(job -> jobs.add(PlainValues.of(job)));
          return jobs;
        });
  }

  /** Requests the end of the job; returns its state. */
  public String stop(String job, boolean save, boolean force) {
    return call(
        () -> {
          StopJobRequest request =
              StopJobRequest.newBuilder().setJobId(id(job)).setSave(save).setForce(force).build();
          StopJobResponse stopped = one(api::stopJob, request);
          return state(stopped.getJob());
        });
  }

  /** A part of the output of a task, see {@code TensorFlowJobs.output}. */
  public Map<String, Object> output(String job, String task, String position, int mostBytes) {
    return call(
        () -> {
          // The job is read before the output, so that all output of a finished job is found.
          Job found = find(job);
          PlainOutput output = new PlainOutput(found, task, position, mostBytes);
          if (output.hasAttempt()) {
            StreamLogsRequest request = output.request();
            stream(new DirectCall<>(output::add), call -> api.streamLogs(request, call));
          }
          return output.answer();
        });
  }

  @Override
  public void close() {
    for (Runnable waiting : threads.shutdownNow()) {
      ((Future<?>) waiting).cancel(true);
    }
  }

  private Job find(String job) throws ExecutionException, InterruptedException {
    GetJobRequest request = GetJobRequest.newBuilder().setJobId(id(job)).build();
    GetJobResponse found = one(api::getJob, request);
    return found.getJob();
  }

  private static String id(String given) {
    return given == null ? "" : given;
  }

  private static String state(Job job) {
    return PlainValues.text(job.getState().getValueDescriptor());
  }

  private void upload(String digest, byte[] archive)
      throws ExecutionException, InterruptedException {
    stream(
        new DirectCall<UploadCodeResponse>(uploaded -> true),
        call -> {
          StreamObserver<UploadCodeRequest> chunks = api.uploadCode(call);
          for (int begin = 0; begin < archive.length; begin += CHUNK_BYTES) {
            int size = Math.min(CHUNK_BYTES, archive.length - begin);
            UploadCodeRequest.Builder chunk =
                UploadCodeRequest.newBuilder().setChunk(ByteString.copyFrom(archive, begin, size));
            if (begin == 0) {
              chunk.setDigest(digest);
            }
            try {
              chunks.onNext(chunk.build());
            } catch (RuntimeException e) {
              chunks.onError(e);
              throw e;
            }
          }
          chunks.onCompleted();
        });
  }

  private static <Q, R> R one(BiConsumer<Q, StreamObserver<R>> method, Q request)
      throws ExecutionException, InterruptedException {
    List<R> answers = new ArrayList<>();
    stream(new DirectCall<R>(answers::add), call -> method.accept(request, call));
    return answers.get(0);
  }

  private static <R> void stream(DirectCall<R> call, Consumer<DirectCall<R>> method)
      throws ExecutionException, InterruptedException {
    method.accept(call);
    call.await();
  }

  /** Requires what the type of the parameter promises: other languages and raw types do not. */
  private static void requireNamed(String name, Map<?, ?> given) {
    if (given == null) {
      throw invalidRequest(
          "The %s of the job are null. They are a map by names. Give a map.", name);
    }
    for (Object key : given.keySet()) {
      if (!(key instanceof String)) {
        throw invalidRequest(
            "The %s of the job have the key %.200s, which is no text. They are a map by names."
                + " Give a text as each key.",
            name, key);
      }
    }
  }

  /**
   * Runs calls of the node API in the name of the caller of the present method.
   *
   * @throws TensorFlowIgniteException with the text that the status of gRPC has
   */
  private <R> R call(Callable<R> calls) {
    Future<R> answer = null;
    try {
      answer = threads.submit(caller.get().wrap(calls));
      return Uninterruptibles.getUninterruptibly(answer, timeoutMs, TimeUnit.MILLISECONDS);
    } catch (TensorFlowIgniteException e) {
      throw new TensorFlowIgniteException(e.code(), e.description());
    } catch (ExecutionException e) {
      throw error(e.getCause());
    } catch (RejectedExecutionException e) {
      if (threads.isShutdown()) {
        throw stopping();
      }
      throw failure(
          ERROR_CODE_LIMIT_EXCEEDED,
          "This node has %d calls of its service for jobs. At most %d run and %d wait at a time."
              + " Call again later, or another node.",
          THREADS + MAX_WAITING,
          THREADS,
          MAX_WAITING);
    } catch (CancellationException e) {
      throw stopping();
    } catch (TimeoutException e) {
      // Nobody waits for it: it leaves its thread, or does not begin.
      answer.cancel(true);
      threads.purge();
      throw failure(
          ERROR_CODE_INTERNAL_ERROR,
          "The node has not answered a call for jobs within %d s. Its log may have the reason. Call"
              + " again, or another node; a submission with the same request id makes one job.",
          TimeUnit.MILLISECONDS.toSeconds(timeoutMs));
    }
  }

  private static TensorFlowIgniteException stopping() {
    return failure(
        ERROR_CODE_INTERNAL_ERROR,
        "This node stops. Only running nodes answer calls. Call another node.");
  }

  private static TensorFlowIgniteException failure(
      ErrorCode code, String format, Object... values) {
    TensorFlowIgniteException error = TensorFlowIgniteException.of(code, format, values);
    return new TensorFlowIgniteException(code, error.description());
  }

  private TensorFlowIgniteException error(Throwable cause) {
    if (cause instanceof ExecutionException) {
      return error(cause.getCause());
    }
    if (cause instanceof InterruptedException) {
      return stopping();
    }
    Status status =
        cause instanceof RuntimeException
            ? ErrorStatuses.of((RuntimeException) cause)
            : ErrorStatuses.of(new IllegalStateException(cause));
    if (status.getCode() == Status.Code.INTERNAL) {
      log.error("A call for jobs failed", cause);
    }
    ErrorCode code =
        status.getCause() instanceof TensorFlowIgniteException
            ? ((TensorFlowIgniteException) status.getCause()).code()
            : ERROR_CODE_INTERNAL_ERROR;
    return new TensorFlowIgniteException(code, String.valueOf(status.getDescription()));
  }
}
