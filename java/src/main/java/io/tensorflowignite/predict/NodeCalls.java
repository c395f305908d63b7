package io.tensorflowignite.predict;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_SERVED;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.LocalNode;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.PredictOutcome;
import io.tensorflowignite.v1.PredictResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Predictions between nodes, by {@link NodePredictions}. A call holds a thread on both nodes until
 * it is answered. So each model has its own threads here, and at most a part of the other node's
 * threads: a model that hangs does not delay other models.
 */
final class NodeCalls implements AutoCloseable {
  /** For the calls of one model to other nodes. */
  private static final int THREADS = 8;

  /** Requests of one model to other nodes that wait for a thread. */
  private static final int MAX_WAITING = 1_000;

  /** Before nodes that are busy are called again. */
  private static final Duration BUSY_PAUSE = Duration.ofMillis(5);

  private static final Duration MAX_BUSY_PAUSE = Duration.ofMillis(40);

  /**
   * The time that a call between nodes has beyond the deadline. The other node keeps the deadline
   * itself; Ignite's clock, which may be late, would end a short call before it begins.
   */
  private static final long MARGIN_MS = 1_000;

  /** After the deadline, so that the reason of the last call is known. */
  private static final long LAST_ANSWER_MS = 100;

  /** The other node has begun nothing. */
  private static final class BusyException extends RuntimeException {
    BusyException(String text) {
      super(text);
    }
  }

  private final Ignite ignite;
  private final String serviceName;
  private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

  /** Calls to each node that are not answered yet. */
  private final Map<UUID, AtomicInteger> inFlight = new ConcurrentHashMap<>();

  /** Contacts between nodes, on which leases depend, need threads of the service pool too. */
  private final Semaphore answering;

  private final int answeringOne;
  private final Map<String, Semaphore> answeringModels = new ConcurrentHashMap<>();

  NodeCalls(Ignite ignite, String serviceName) {
    this.ignite = ignite;
    this.serviceName = serviceName;
    int most = Math.max(1, ignite.configuration().getServiceThreadPoolSize() / 2);
    this.answering = new Semaphore(most);
    this.answeringOne = (most + 1) / 2;
  }

  /**
   * Runs a call to other nodes on one of the model's threads. The result is there shortly after the
   * deadline at the latest, though the thread may wait longer for a node that stands still.
   */
  CompletableFuture<PredictResponse> submit(
      String model, long deadline, Supplier<PredictResponse> call) {
    try {
      return CompletableFuture.supplyAsync(call, threads.computeIfAbsent(model, NodeCalls::pool))
          .orTimeout(Predictor.millisLeft(deadline) + LAST_ANSWER_MS, TimeUnit.MILLISECONDS)
          .handle(NodeCalls::result);
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(
          limitExceeded(
              "%d requests of this node for the model %s wait for other nodes. More are refused."
                  + " Send fewer requests at a time, or to a node that serves the model.",
              MAX_WAITING, model));
    }
  }

  private static PredictResponse result(PredictResponse response, Throwable error) {
    if (error instanceof TimeoutException) {
      throw Predictor.timedOut();
    }
    if (error != null) {
      throw error instanceof CompletionException
          ? (CompletionException) error
          : new CompletionException(error);
    }
    return response;
  }

  private static ExecutorService pool(String model) {
    return IdleThreads.pool("tensorflow-ignite-predict-call-%d", THREADS, MAX_WAITING);
  }

  /**
   * The response of the first node that answers. Nodes with fewer open calls are called first: a
   * node that stands still, and has not left the cluster yet, keeps its open calls.
   *
   * @param call calls a node with the milliseconds until the deadline
   */
  PredictResponse first(
      Collection<ClusterNode> nodes,
      long deadline,
      BiFunction<NodePredictions, Long, byte[]> call) {
    RuntimeException failure = Predictor.timedOut();
    Duration pause = BUSY_PAUSE;
    while (true) {
      String busy = null;
      for (ClusterNode node : byCalls(nodes)) {
        if (Predictor.millisLeft(deadline) <= 0) {
          throw failure;
        }
        try {
          return one(node, deadline, call);
        } catch (BusyException e) {
          busy = e.getMessage();
        } catch (TensorFlowIgniteException e) {
          if (e.code() != ERROR_CODE_MODEL_NOT_SERVED) {
            throw e;
          }
          failure = e;
        }
      }
      if (busy == null) {
        throw failure;
      }
      failure = new TensorFlowIgniteException(ERROR_CODE_LIMIT_EXCEEDED, busy);
      Uninterruptibles.sleepUninterruptibly(pause);
      pause = Collections.min(List.of(pause.multipliedBy(2), MAX_BUSY_PAUSE));
    }
  }

  /** The nodes that run the service. */
  Set<UUID> serviceNodes() {
    return ignite.services().serviceDescriptors().stream()
        .filter(service -> service.name().equals(serviceName))
        .flatMap(service -> service.topologySnapshot().keySet().stream())
        .collect(Collectors.toSet());
  }

  private List<ClusterNode> byCalls(Collection<ClusterNode> nodes) {
    List<ClusterNode> sorted = new ArrayList<>(nodes);
    Collections.shuffle(sorted);
    Map<UUID, Integer> now = new ConcurrentHashMap<>();
    sorted.forEach(node -> now.put(node.id(), calls(node).get()));
    sorted.sort(Comparator.comparing(node -> now.get(node.id())));
    return sorted;
  }

  private AtomicInteger calls(ClusterNode node) {
    return inFlight.computeIfAbsent(node.id(), id -> new AtomicInteger());
  }

  private PredictResponse one(
      ClusterNode node, long deadline, BiFunction<NodePredictions, Long, byte[]> call) {
    long millis = Math.max(1, Predictor.millisLeft(deadline));
    AtomicInteger calls = calls(node);
    calls.incrementAndGet();
    try {
      NodePredictions proxy =
          ignite
              .services(ignite.cluster().forNode(node))
              .serviceProxy(serviceName, NodePredictions.class, false, millis + MARGIN_MS);
      return response(call.apply(proxy, millis));
    } catch (IgniteException e) {
      if (Predictor.millisLeft(deadline) <= 0) {
        throw Predictor.timedOut();
      }
      throw new TensorFlowIgniteException(
          ERROR_CODE_MODEL_NOT_SERVED,
          "The node "
              + MessageText.shortId(node.id().toString())
              + ", which was to predict, did not answer: "
              + MessageText.reason(e)
              + ". Requests in a node that fails fail with it. Send it again.",
          e);
    } catch (IllegalStateException e) {
      if (!LocalNode.isStopping(ignite)) {
        throw e;
      }
      throw new TensorFlowIgniteException(
          ERROR_CODE_MODEL_NOT_SERVED,
          "This node is being stopped, and calls no other node. Send the request again to another"
              + " node.",
          e);
    } finally {
      calls.decrementAndGet();
    }
  }

  private static PredictResponse response(byte[] answer) {
    try {
      PredictOutcome outcome = PredictOutcome.parseFrom(answer);
      if (outcome.getBusy()) {
        throw new BusyException(outcome.getError());
      }
      if (outcome.getCode() != ErrorCode.ERROR_CODE_UNSPECIFIED) {
        throw new TensorFlowIgniteException(outcome.getCode(), outcome.getError());
      }
      return outcome.getResponse();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException("the answer of another node is no PredictOutcome", e);
    }
  }

  /** Answers another node, see {@link NodePredictions}. */
  byte[] answer(String model, Function<Long, PredictResponse> prediction, long timeoutMillis) {
    Semaphore ofModel =
        answeringModels.computeIfAbsent(model, added -> new Semaphore(answeringOne));
    if (!ofModel.tryAcquire()) {
      return busy(model);
    }
    try {
      if (!answering.tryAcquire()) {
        return busy(model);
      }
      try {
        PredictResponse response = prediction.apply(Predictor.deadline(timeoutMillis));
        return PredictOutcome.newBuilder().setResponse(response).build().toByteArray();
      } catch (TensorFlowIgniteException e) {
        return outcome(e.code(), e.getMessage());
      } catch (RuntimeException e) {
        return outcome(ERROR_CODE_INTERNAL_ERROR, MessageText.reason(e));
      } finally {
        answering.release();
      }
    } finally {
      ofModel.release();
    }
  }

  private static byte[] busy(String model) {
    return PredictOutcome.newBuilder()
        .setBusy(true)
        .setCode(ERROR_CODE_LIMIT_EXCEEDED)
        .setError(
            "The nodes that serve the model "
                + model
                + " answer requests of other nodes on half of the threads of their service pools"
                + " (IgniteConfiguration.serviceThreadPoolSize), one model on half of these; and"
                + " they were in use until the deadline. Send the request again later, or to a node"
                + " that serves the model.")
        .build()
        .toByteArray();
  }

  private static byte[] outcome(ErrorCode code, String error) {
    return PredictOutcome.newBuilder().setCode(code).setError(error).build().toByteArray();
  }

  @Override
  public void close() {
    threads.values().forEach(ExecutorService::shutdownNow);
  }
}
