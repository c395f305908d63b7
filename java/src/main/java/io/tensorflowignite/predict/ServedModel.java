package io.tensorflowignite.predict;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_SERVED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_UNUSABLE;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_PREDICTION_TIMED_OUT;
import static io.tensorflowignite.v1.ModelState.MODEL_STATE_SERVING;

import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.protobuf.util.Durations;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.decide.RequestQueue;
import io.tensorflowignite.predict.decide.Tensors;
import io.tensorflowignite.v1.BatchRule;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.PingRequest;
import io.tensorflowignite.v1.PingResponse;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.PredictResponse;
import io.tensorflowignite.v1.PredictServiceGrpc;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;

/**
 * One version of a model on this node: the requests that wait for its process, and the batches in
 * the process. If a process ends, only the requests in it fail; the waiting ones get the next
 * process, or reach their deadline.
 */
final class ServedModel {
  static final int BATCH_ROWS = 256;
  static final int WAITING_ROWS = 4096;
  static final long BATCH_BYTES = 64L << 20;

  /** The requests that wait for one model take at most 1/16 of the heap. */
  static final int HEAP_DIVISOR = 16;

  static final long DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  /** The process decodes one batch while it computes another one. */
  private static final int BATCHES_IN_PROCESS = 2;

  /** A process that does not answer a ping for this time has failed. */
  static final long STALL_S = 30;

  private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(STALL_S);

  /** Longer than an agent takes to report the end of a process. */
  private static final long REOPEN_MS = 1_000;

  private static final class Call {
    final PredictRequest request;
    final int rows;
    final long deadline;
    final CompletableFuture<PredictResponse> result = new CompletableFuture<>();

    Call(PredictRequest request, int rows, long deadline) {
      this.request = request;
      this.rows = rows;
      this.deadline = deadline;
    }
  }

  private final ModelKey key;
  private final ModelChannels channels;
  private final ScheduledExecutorService executor;
  private final RequestQueue<Call> queue;
  private final IntConsumer sent;
  private final Consumer<String> restart;
  private ModelStatus status;
  private ManagedChannel channel;
  private int inProcess;
  private boolean retired;
  private boolean isClosed;
  private boolean isScheduled;
  private boolean isPinged;
  private long scheduledAt;

  /**
   * @param sent gets the rows of each batch
   * @param restart ends a process that has failed; gets the reason
   */
  ServedModel(
      ModelKey key,
      BatchRule rule,
      ModelChannels channels,
      ScheduledExecutorService executor,
      IntConsumer sent,
      Consumer<String> restart) {
    this.key = key;
    this.channels = channels;
    this.executor = executor;
    this.sent = sent;
    this.restart = restart;
    this.status = ModelStatus.newBuilder().setKey(key).build();
    this.queue =
        new RequestQueue<>(
            new RequestQueue.Size(
                rule.getMaxRows() > 0 ? rule.getMaxRows() : BATCH_ROWS, BATCH_BYTES),
            new RequestQueue.Size(
                rule.getMaxWaitingRows() > 0 ? rule.getMaxWaitingRows() : WAITING_ROWS,
                Runtime.getRuntime().maxMemory() / HEAP_DIVISOR),
            rule.hasMaxDelay() ? Durations.toNanos(rule.getMaxDelay()) : DELAY_NANOS);
  }

  synchronized ModelStatus status() {
    return status;
  }

  synchronized int waitingRows() {
    return queue.waitingRows();
  }

  synchronized boolean serves() {
    return !retired && channel != null;
  }

  /** Takes a report of the process's state. */
  void observe(ModelStatus observed) {
    ManagedChannel ended = null;
    synchronized (this) {
      boolean serves = observed.getState() == MODEL_STATE_SERVING && !isClosed;
      boolean sameProcess = serves && observed.getPid() == status.getPid();
      status = observed;
      if (channel != null && !sameProcess) {
        ended = channel;
        channel = null;
      }
      if (serves && channel == null) {
        channel = channels.open(observed.getSocket());
      }
    }
    if (ended != null) {
      ended.shutdownNow();
    }
    pump();
  }

  /**
   * Adds a request; its result is a response or a {@link TensorFlowIgniteException}.
   *
   * @param deadline a time of {@link System#nanoTime}
   * @return empty: this version is not served here any more
   */
  Optional<CompletableFuture<PredictResponse>> submit(PredictRequest request, long deadline) {
    ModelStatus known = status();
    int rows = Tensors.verify(request, Tensors.signature(known, request.getSignature()));
    Call call = new Call(request, rows, deadline);
    Object group = Tensors.group(request);
    long bytes = request.getSerializedSize();
    synchronized (this) {
      if (retired) {
        return Optional.empty();
      }
      if (!queue.offer(call, group, rows, bytes, System.nanoTime(), deadline)) {
        throw limitExceeded(
            "A request of %d rows and %d bytes for the model %s is refused: %d rows wait for it on"
                + " this node. The deployment limits the number of rows that wait"
                + " (max_waiting_rows), and together they take at most a %dth of the heap. Send"
                + " fewer requests at a time, or deploy more replicas.",
            rows, bytes, name(), queue.waitingRows(), HEAP_DIVISOR);
      }
    }
    pump();
    return Optional.of(call.result);
  }

  /** Accepts no further requests; the accepted ones are answered. */
  synchronized void retire() {
    retired = true;
  }

  /** Accepts requests again, for a retired version that is deployed anew. */
  synchronized void restore() {
    retired = false;
  }

  /** Whether no request waits or is in the process. */
  synchronized boolean isIdle() {
    return inProcess == 0 && queue.isEmpty();
  }

  /** Fails all requests, and closes the connection. */
  void close(String reason) {
    List<Call> waiting;
    ManagedChannel ended;
    synchronized (this) {
      retired = true;
      isClosed = true;
      waiting = queue.clear();
      ended = channel;
      channel = null;
    }
    if (ended != null) {
      ended.shutdownNow();
    }
    waiting.forEach(call -> call.result.completeExceptionally(notServed(reason)));
  }

  /** Sends the batches that are due, and fails the requests that are late. */
  private void pump() {
    List<List<Call>> due = new ArrayList<>();
    List<Call> late;
    ManagedChannel to;
    synchronized (this) {
      long now = System.nanoTime();
      late = queue.expire(now);
      to = channel;
      while (to != null && inProcess < BATCHES_IN_PROCESS) {
        List<Call> batch = queue.take(now, inProcess == 0);
        if (batch.isEmpty()) {
          break;
        }
        inProcess++;
        due.add(batch);
      }
      boolean isFree = to != null && inProcess < BATCHES_IN_PROCESS;
      schedule(now, isFree ? queue.untilNext(now) : queue.untilDeadline(now));
    }
    late.forEach(call -> call.result.completeExceptionally(timedOut()));
    if (!late.isEmpty() && to != null) {
      ping(to);
    }
    for (List<Call> batch : due) {
      send(to, batch);
    }
  }

  private void schedule(long now, long nanos) {
    boolean isEarlier = !isScheduled || now + nanos - scheduledAt < 0;
    if (nanos == RequestQueue.NEVER || !isEarlier) {
      return;
    }
    isScheduled = true;
    scheduledAt = now + nanos;
    long due = scheduledAt;
    try {
      executor.schedule(() -> wake(due), nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      isScheduled = false;
    }
  }

  private void wake(long due) {
    synchronized (this) {
      if (scheduledAt == due) {
        isScheduled = false;
      }
    }
    pump();
  }

  /**
   * Sends a batch outside the gRPC context of this thread. In its context, the end and the deadline
   * of one call would end the other requests of the batch.
   */
  private void send(ManagedChannel to, List<Call> batch) {
    Context.ROOT.run(() -> sendInRoot(to, batch));
  }

  private void sendInRoot(ManagedChannel to, List<Call> batch) {
    long now = System.nanoTime();
    long left = batch.stream().mapToLong(call -> call.deadline - now).max().orElse(0);
    sent.accept(batch.stream().mapToInt(call -> call.rows).sum());
    PredictRequest request =
        Tensors.concatenate(batch.stream().map(call -> call.request).collect(Collectors.toList()));
    Futures.addCallback(
        PredictServiceGrpc.newFutureStub(to)
            .withDeadlineAfter(Math.max(1, left), TimeUnit.NANOSECONDS)
            .predict(request),
        new FutureCallback<PredictResponse>() {
          @Override
          public void onSuccess(PredictResponse response) {
            done();
            answer(batch, response);
          }

          @Override
          public void onFailure(Throwable error) {
            Status failed = Status.fromThrowable(error);
            if (batch.size() > 1 && isOfOneRequest(failed)) {
              // Each request is sent alone, to find the failing one: the other requests must not
              // fail with it.
              synchronized (ServedModel.this) {
                inProcess += batch.size() - 1;
              }
              batch.forEach(call -> send(to, List.of(call)));
              return;
            }
            if (failed.getCode() == Status.Code.UNAVAILABLE) {
              lost(to);
            }
            done();
            if (failed.getCode() == Status.Code.DEADLINE_EXCEEDED) {
              ping(to);
            }
            batch.forEach(call -> call.result.completeExceptionally(translate(failed)));
          }
        },
        executor);
  }

  /**
   * Sends nothing more to a process that has ended; the agent's report comes later. Until then,
   * requests wait or go to other nodes.
   */
  private void lost(ManagedChannel to) {
    synchronized (this) {
      if (channel != to) {
        return;
      }
      channel = null;
    }
    to.shutdownNow();
    try {
      executor.schedule(this::reopen, REOPEN_MS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closing) {
      return;
    }
  }

  /** Connects again to a process that still serves: only the connection was lost. */
  private void reopen() {
    synchronized (this) {
      if (isClosed || channel != null || status.getState() != MODEL_STATE_SERVING) {
        return;
      }
      channel = channels.open(status.getSocket());
    }
    pump();
  }

  /** Finds out whether a process that has not answered in time is slow, or has failed. */
  private void ping(ManagedChannel to) {
    synchronized (this) {
      if (isPinged) {
        return;
      }
      isPinged = true;
    }
    Context.ROOT.run(() -> pingInRoot(to));
  }

  private void pingInRoot(ManagedChannel to) {
    long pid = status().getPid();
    long waited = RunQueue.waited(pid);
    Futures.addCallback(
        PredictServiceGrpc.newFutureStub(to)
            .withDeadlineAfter(STALL_S, TimeUnit.SECONDS)
            .ping(PingRequest.getDefaultInstance()),
        new FutureCallback<PingResponse>() {
          @Override
          public void onSuccess(PingResponse response) {
            end();
          }

          @Override
          public void onFailure(Throwable error) {
            end();
            if (Status.fromThrowable(error).getCode() != Status.Code.DEADLINE_EXCEEDED) {
              return;
            }
            if (RunQueue.waited(pid) - waited > STALL_NANOS / 2) {
              // Other programs keep the processors busy; another start would add to that.
              ping(to);
            } else {
              restart.accept("it has not answered for " + STALL_S + " s after a late request");
            }
          }

          private void end() {
            synchronized (ServedModel.this) {
              isPinged = false;
            }
          }
        },
        executor);
  }

  private void done() {
    synchronized (this) {
      inProcess--;
    }
    pump();
  }

  private void answer(List<Call> batch, PredictResponse response) {
    try {
      List<PredictResponse> parts =
          Tensors.split(
              response.toBuilder().setNumber(key.getNumber()).build(),
              batch.stream().mapToInt(call -> call.rows).toArray());
      for (int i = 0; i < parts.size(); i++) {
        batch.get(i).result.complete(parts.get(i));
      }
    } catch (RuntimeException e) {
      batch.forEach(call -> call.result.completeExceptionally(e));
    }
  }

  private static boolean isOfOneRequest(Status failed) {
    return failed.getCode() == Status.Code.FAILED_PRECONDITION
        || failed.getCode() == Status.Code.INVALID_ARGUMENT
        || failed.getCode() == Status.Code.RESOURCE_EXHAUSTED;
  }

  private TensorFlowIgniteException translate(Status failed) {
    String text = failed.getDescription();
    switch (failed.getCode()) {
      case INVALID_ARGUMENT:
        return new TensorFlowIgniteException(ERROR_CODE_INVALID_REQUEST, text);
      case FAILED_PRECONDITION:
        return new TensorFlowIgniteException(ERROR_CODE_MODEL_UNUSABLE, text);
      case RESOURCE_EXHAUSTED:
        return limitExceeded(
            "The model %s has not enough memory for the request or its answer: %s. The deployment"
                + " limits the memory of its process (memory), and an answer has at most a %dth of"
                + " the heap of a node. Send fewer rows at a time, or raise the limit.",
            name(), text, HEAP_DIVISOR);
      case DEADLINE_EXCEEDED:
        return timedOut();
      default:
        return notServed("its process has ended, or was not reached: " + text);
    }
  }

  private TensorFlowIgniteException timedOut() {
    return TensorFlowIgniteException.of(
        ERROR_CODE_PREDICTION_TIMED_OUT,
        "The prediction of the model %s was not ready at its deadline. The caller sets it. Wait"
            + " longer, send fewer rows, or see its processes: tensorflow-ignite model describe %s",
        name(),
        key.getName());
  }

  private TensorFlowIgniteException notServed(String reason) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_MODEL_NOT_SERVED,
        "The request to the model %s failed: %s. Requests in a process that ends fail with it."
            + " Send it again; see: tensorflow-ignite model describe %s",
        name(),
        reason,
        key.getName());
  }

  private String name() {
    return key.getName() + ":" + key.getNumber();
  }
}
