package io.tensorflowignite.predict;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_SERVED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_PREDICTION_TIMED_OUT;

import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Status;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.decide.Rollover;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.v1.ModelDeployment;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.PredictResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Predicts one batch with one version of a model until a deadline, on this node or on another node
 * that serves the version. The caller must be authorized before.
 */
public final class Predictor implements AutoCloseable {
  private static final Pattern REFERENCE =
      Pattern.compile("([A-Za-z0-9_][A-Za-z0-9_.-]{0,199})(?::([1-9][0-9]{0,17}))?");

  /** A version may end between its choice and the submission of a request. */
  private static final int CHOICES = 4;

  private static final long LONGEST_MS = TimeUnit.DAYS.toMillis(365);

  private final Ignite ignite;
  private final String nodeId;
  private final ModelRunner runner;
  private final NodeCalls calls;

  /**
   * @param serviceName the name under which the service is deployed, which implements {@link
   *     NodePredictions}
   */
  public Predictor(Ignite ignite, String serviceName, ModelRunner runner) {
    this.ignite = ignite;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.runner = runner;
    this.calls = new NodeCalls(ignite, serviceName);
  }

  /**
   * The name of the model in NAME, NAME:NUMBER or NAME@LABEL, for permissions; the text may be none
   * of them.
   */
  public static String name(String model) {
    return model == null ? "" : model.split("[:@]", 2)[0];
  }

  /** Verifies that a text is NAME or NAME:NUMBER. */
  public static void requireReference(String model) {
    parse(model);
  }

  /**
   * The outputs of one batch.
   *
   * @param request its model is NAME or NAME:NUMBER
   * @param deadline a moment of {@link System#nanoTime}
   * @return completes with the response or a {@link TensorFlowIgniteException}
   */
  public CompletableFuture<PredictResponse> predict(PredictRequest request, long deadline) {
    long begin = System.nanoTime();
    ModelKey key;
    try {
      key = resolve(request.getModel());
    } catch (RuntimeException e) {
      if (!request.getForwarded()) {
        runner.metrics().refused(ErrorStatuses.of(e).getCode().name());
      }
      return CompletableFuture.failedFuture(e);
    }
    CompletableFuture<PredictResponse> result = predict(request, key, deadline);
    // The node that has sent it here counts it.
    return request.getForwarded()
        ? result
        : result.whenComplete((response, error) -> count(key, error, begin));
  }

  private void count(ModelKey key, Throwable error, long begin) {
    Throwable cause = error instanceof CompletionException ? error.getCause() : error;
    Status.Code code =
        cause == null
            ? Status.Code.OK
            : cause instanceof RuntimeException
                ? ErrorStatuses.of((RuntimeException) cause).getCode()
                : Status.Code.INTERNAL;
    double seconds = (System.nanoTime() - begin) / 1e9;
    runner.metrics().answered(key.getName(), key.getNumber(), code.name(), seconds);
  }

  private CompletableFuture<PredictResponse> predict(
      PredictRequest request, ModelKey first, long deadline) {
    try {
      ModelKey key = first;
      for (int choice = 0; choice < CHOICES; choice++) {
        if (choice > 0) {
          key = resolve(request.getModel());
        }
        Optional<ServedModel> here = runner.served(key);
        List<ClusterNode> others = request.getForwarded() ? List.of() : others(key, true);
        boolean serves = here.filter(ServedModel::serves).isPresent();
        if (!serves && !others.isEmpty()) {
          return forward(request, others, deadline);
        }
        // A process that has served is started again: the request waits for it.
        boolean waits = here.filter(model -> model.status().getSignaturesCount() > 0).isPresent();
        if (!serves && !waits) {
          List<ClusterNode> restarting = request.getForwarded() ? List.of() : others(key, false);
          if (restarting.isEmpty()) {
            throw notServed(key, here);
          }
          return forward(request, restarting, deadline);
        }
        Optional<CompletableFuture<PredictResponse>> result = here.get().submit(request, deadline);
        if (result.isPresent()) {
          return result.get();
        }
      }
      throw notServed(resolve(request.getModel()), Optional.empty());
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Waits for a result; throws its error. */
  static PredictResponse await(CompletableFuture<PredictResponse> result, long deadline) {
    try {
      // A process answers a late request itself, with the reason of the delay.
      long left = Math.max(0, deadline - System.nanoTime()) + TimeUnit.SECONDS.toNanos(1);
      return result.get(left, TimeUnit.NANOSECONDS);
    } catch (ExecutionException | CompletionException e) {
      if (e.getCause() instanceof RuntimeException) {
        throw (RuntimeException) e.getCause();
      }
      throw new IllegalStateException(e.getCause());
    } catch (TimeoutException e) {
      throw timedOut();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TensorFlowIgniteException(
          ERROR_CODE_MODEL_NOT_SERVED,
          "The prediction was interrupted, since its node stops. Send it again to another node.",
          e);
    }
  }

  NodeCalls calls() {
    return calls;
  }

  /** Answers another node, see {@link NodePredictions#predictHere}. */
  public byte[] predictHere(byte[] request, long timeoutMillis) {
    PredictRequest parsed;
    try {
      parsed = PredictRequest.parseFrom(request).toBuilder().setForwarded(true).build();
    } catch (InvalidProtocolBufferException e) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_INVALID_REQUEST,
          "The request of another node cannot be read. Nodes send a PredictRequest. Update the"
              + " nodes to one version.",
          e);
    }
    return calls.answer(
        name(parsed.getModel()),
        deadline -> await(predict(parsed, deadline), deadline),
        timeoutMillis);
  }

  /** The model with the number of its version, so that several calls mean the same one. */
  String pinned(String model) {
    ModelKey key = resolve(model);
    return key.getName() + ":" + key.getNumber();
  }

  /** A process that serves the model now, on any node: it has the signatures. */
  public ModelStatus serving(String model) {
    ModelKey key = resolve(model);
    Optional<ServedModel> here = runner.served(key);
    Optional<ModelStatus> known =
        here.map(ServedModel::status).filter(status -> status.getSignaturesCount() > 0);
    return known
        .or(
            () ->
                runner.states().values().stream()
                    .flatMap(
                        models -> Rollover.status(key.getName(), key.getNumber(), models).stream())
                    .filter(Rollover::serves)
                    .findFirst())
        .orElseThrow(() -> notServed(key, here));
  }

  static long deadline(long timeoutMillis) {
    // Sums with a longer time overflow.
    return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Math.min(timeoutMillis, LONGEST_MS));
  }

  static long millisLeft(long deadline) {
    return TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
  }

  private CompletableFuture<PredictResponse> forward(
      PredictRequest request, List<ClusterNode> others, long deadline) {
    byte[] bytes = request.toByteArray();
    return calls.submit(
        name(request.getModel()),
        deadline,
        () -> calls.first(others, deadline, (node, left) -> node.predictHere(bytes, left)));
  }

  /**
   * The other nodes that serve a version.
   *
   * @param now whether a process serves; otherwise it has served, and is started again
   */
  private List<ClusterNode> others(ModelKey key, boolean now) {
    List<ClusterNode> found = new ArrayList<>();
    for (Map.Entry<String, List<ModelStatus>> node : runner.states().entrySet()) {
      boolean serves =
          Rollover.status(key.getName(), key.getNumber(), node.getValue())
              .filter(model -> now ? Rollover.serves(model) : model.getSignaturesCount() > 0)
              .isPresent();
      ClusterNode live = ignite.cluster().node(UUID.fromString(node.getKey()));
      if (serves && live != null && !node.getKey().equals(nodeId)) {
        found.add(live);
      }
    }
    return found;
  }

  private ModelKey resolve(String model) {
    Matcher reference = parse(model);
    String name = reference.group(1);
    ModelDeployment row =
        runner
            .deployments()
            .get(name)
            .orElseThrow(
                () ->
                    TensorFlowIgniteException.of(
                        ERROR_CODE_MODEL_NOT_FOUND,
                        "The model %s is not deployed. Models are served after their deployment."
                            + " Deploy it: tensorflow-ignite model deploy %1$s",
                        name));
    long number = row.getCurrent();
    if (reference.group(2) != null) {
      number = Long.parseLong(reference.group(2));
      if (!Rollover.versions(row).contains(number)) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_MODEL_NOT_FOUND,
            "The version %d of the model %s is not deployed. The nodes serve %s. Use one of these,"
                + " or deploy it: tensorflow-ignite model deploy %2$s:%1$d",
            number,
            name,
            Rollover.versions(row));
      }
    } else if (number == 0) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_MODEL_NOT_SERVED,
          "The model %s is not served yet: %s. A name means the version that serves on all its"
              + " nodes. See: tensorflow-ignite model describe %1$s",
          name,
          row.getTarget() == 0
              ? "version " + row.getFailed() + " failed " + row.getError()
              : "version " + row.getTarget() + " is being loaded");
    }
    return ModelKey.newBuilder().setName(name).setNumber(number).build();
  }

  private static Matcher parse(String model) {
    Matcher reference = REFERENCE.matcher(model == null ? "" : model);
    if (!reference.matches()) {
      throw invalidRequest(
          "'%.200s' names no model. A model is NAME or NAME:VERSION, such as digits and digits:3."
              + " Use a name of this form.",
          model);
    }
    return reference;
  }

  private static TensorFlowIgniteException notServed(ModelKey key, Optional<ServedModel> here) {
    String error = here.map(model -> model.status().getError()).orElse("");
    return TensorFlowIgniteException.of(
        ERROR_CODE_MODEL_NOT_SERVED,
        "No process serves the model %s:%d now%s. Processes that end are started again after a"
            + " pause. See: tensorflow-ignite model describe %1$s",
        key.getName(),
        key.getNumber(),
        error.isEmpty() ? "" : " (" + error + ")");
  }

  static TensorFlowIgniteException timedOut() {
    return new TensorFlowIgniteException(
        ERROR_CODE_PREDICTION_TIMED_OUT,
        "The prediction was not ready at its deadline. The caller sets it. Wait longer, or send"
            + " fewer rows at a time.");
  }

  @Override
  public void close() {
    calls.close();
  }
}
