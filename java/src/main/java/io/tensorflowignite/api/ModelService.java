package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_FOUND;

import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.ModelPaths;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.ModelRunner;
import io.tensorflowignite.predict.Predictor;
import io.tensorflowignite.predict.decide.Rollover;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.v1.DeployModelRequest;
import io.tensorflowignite.v1.DeployModelResponse;
import io.tensorflowignite.v1.ListDeploymentsRequest;
import io.tensorflowignite.v1.ListDeploymentsResponse;
import io.tensorflowignite.v1.ModelDeployment;
import io.tensorflowignite.v1.ModelServiceGrpc;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.NodeModels;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.PredictResponse;
import io.tensorflowignite.v1.UndeployModelRequest;
import io.tensorflowignite.v1.UndeployModelResponse;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Models that the nodes serve: their deployments, and predictions. */
public final class ModelService extends ModelServiceGrpc.ModelServiceImplBase {
  private static final int MAX_REPLICAS = 10_000;
  private static final int MAX_ROWS = 1_000_000;
  private static final long MAX_DELAY_S = 10;

  private final ModelRunner runner;
  private final Predictor predictor;
  private final Storage storage;
  private final Guard guard;

  /**
   * @param guard authorizes each call
   */
  public ModelService(ModelRunner runner, Predictor predictor, Storage storage, Guard guard) {
    this.runner = runner;
    this.predictor = predictor;
    this.storage = storage;
    this.guard = guard;
  }

  @Override
  public void deployModel(DeployModelRequest request, StreamObserver<DeployModelResponse> answer) {
    String name = request.getKey().getName();
    guard.deploy(name);
    long number = request.getKey().getNumber();
    Predictor.requireReference(name + ":" + number);
    validate(request);
    guard.readFile(ModelPaths.version(name, number));
    storage.tree().get(ModelPaths.metadata(name, number));
    String owner = guard.owner();
    ModelDeployment row =
        runner.deployments().change(name, known -> Rollover.deploy(known, request, owner));
    runner.wake();
    answer.onNext(DeployModelResponse.newBuilder().setDeployment(row).build());
    answer.onCompleted();
  }

  @Override
  public void undeployModel(
      UndeployModelRequest request, StreamObserver<UndeployModelResponse> answer) {
    guard.deploy(request.getName());
    if (!runner.deployments().remove(request.getName())) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_MODEL_NOT_FOUND,
          "The model '%.200s' is not deployed. Only a deployed model can be undeployed. See:"
              + " tensorflow-ignite model ls",
          request.getName());
    }
    runner.wake();
    answer.onNext(UndeployModelResponse.getDefaultInstance());
    answer.onCompleted();
  }

  @Override
  public void listDeployments(
      ListDeploymentsRequest request, StreamObserver<ListDeploymentsResponse> answer) {
    List<ModelDeployment> rows = runner.deployments().all();
    Map<String, List<ModelStatus>> states = runner.states();
    // Processes of models that were undeployed may still be ending.
    Stream<String> ofProcesses =
        states.values().stream().flatMap(List::stream).map(status -> status.getKey().getName());
    Set<String> names =
        new HashSet<>(
            guard.callable(
                Stream.concat(rows.stream().map(ModelDeployment::getName), ofProcesses)
                    .distinct()
                    .collect(Collectors.toList())));
    ListDeploymentsResponse.Builder found = ListDeploymentsResponse.newBuilder();
    rows.stream()
        .filter(row -> names.contains(row.getName()))
        .sorted((one, other) -> one.getName().compareTo(other.getName()))
        .forEach(found::addDeployments);
    for (Map.Entry<String, List<ModelStatus>> node : states.entrySet()) {
      NodeModels.Builder models = NodeModels.newBuilder().setNodeId(node.getKey());
      node.getValue().stream()
          .filter(status -> names.contains(status.getKey().getName()))
          .map(status -> status.toBuilder().clearSocket().build())
          .forEach(models::addModels);
      found.addNodes(models);
    }
    answer.onNext(found.build());
    answer.onCompleted();
  }

  @Override
  public void predict(PredictRequest request, StreamObserver<PredictResponse> answer) {
    guard.predict(Predictor.name(request.getModel()));
    Predictions.complete(
        answer,
        predictor.predict(request.toBuilder().clearForwarded().build(), Predictions.deadline()),
        Function.identity());
  }

  private static void validate(DeployModelRequest request) {
    require("replicas", request.getReplicas(), 0, MAX_REPLICAS);
    require("memory_bytes", request.getMemoryBytes(), 0, Long.MAX_VALUE);
    require("max_rows", request.getBatches().getMaxRows(), 0, MAX_ROWS);
    require("max_waiting_rows", request.getBatches().getMaxWaitingRows(), 0, MAX_ROWS);
    require("max_delay (seconds)", request.getBatches().getMaxDelay().getSeconds(), 0, MAX_DELAY_S);
    require(
        "max_delay (nanoseconds)",
        request.getBatches().getMaxDelay().getNanos(),
        0,
        TimeUnit.SECONDS.toNanos(1) - 1);
  }

  private static void require(String field, long value, long least, long greatest) {
    if (value < least || value > greatest) {
      throw invalidRequest(
          "%s is %d. It is a number from %d to %d. Send a number in this range.",
          field, value, least, greatest);
    }
  }
}
