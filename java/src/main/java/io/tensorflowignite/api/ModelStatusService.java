package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_FOUND;

import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.ModelRunner;
import io.tensorflowignite.predict.Predictor;
import io.tensorflowignite.predict.decide.Rollover;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.serving.v1.Code;
import io.tensorflowignite.serving.v1.GetModelStatusRequest;
import io.tensorflowignite.serving.v1.GetModelStatusResponse;
import io.tensorflowignite.serving.v1.ModelServiceGrpc;
import io.tensorflowignite.serving.v1.ModelVersionStatus;
import io.tensorflowignite.serving.v1.StatusProto;
import io.tensorflowignite.v1.ModelDeployment;
import io.tensorflowignite.v1.ModelState;
import io.tensorflowignite.v1.ModelStatus;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** TensorFlow Serving's service for the states of versions: of all nodes together. */
public final class ModelStatusService extends ModelServiceGrpc.ModelServiceImplBase {
  private final ModelRunner runner;
  private final ServedReferences references;
  private final Guard guard;

  /**
   * @param guard authorizes each call
   */
  public ModelStatusService(ModelRunner runner, ServedReferences references, Guard guard) {
    this.runner = runner;
    this.references = references;
    this.guard = guard;
  }

  @Override
  public void getModelStatus(
      GetModelStatusRequest request, StreamObserver<GetModelStatusResponse> observer) {
    String name = request.getModelSpec().getName();
    guard.predict(Predictor.name(name));
    String reference = references.of(request.getModelSpec());
    Optional<Long> number =
        reference.contains(":")
            ? Optional.of(Long.parseLong(reference.substring(reference.indexOf(':') + 1)))
            : Optional.empty();
    ModelDeployment row =
        runner.deployments().get(Predictor.name(name)).orElseThrow(() -> notFound(name));
    List<Long> versions =
        Rollover.versions(row).stream()
            .filter(version -> number.map(version::equals).orElse(true))
            .sorted(Comparator.reverseOrder())
            .collect(Collectors.toList());
    if (versions.isEmpty()) {
      throw notFound(reference);
    }
    GetModelStatusResponse.Builder answer = GetModelStatusResponse.newBuilder();
    versions.forEach(version -> answer.addModelVersionStatus(status(row, version)));
    observer.onNext(answer.build());
    observer.onCompleted();
  }

  private ModelVersionStatus status(ModelDeployment row, long version) {
    List<ModelStatus> found =
        runner.states().values().stream()
            .flatMap(models -> Rollover.status(row.getName(), version, models).stream())
            .collect(Collectors.toList());
    boolean serves = found.stream().anyMatch(Rollover::serves);
    Optional<ModelStatus> failed =
        found.stream().filter(each -> each.getState() == ModelState.MODEL_STATE_FAILED).findFirst();
    ModelVersionStatus.Builder status =
        ModelVersionStatus.newBuilder()
            .setVersion(version)
            .setStatus(StatusProto.getDefaultInstance());
    if (serves) {
      return status.setState(ModelVersionStatus.State.AVAILABLE).build();
    }
    failed.ifPresent(
        each ->
            status
                .getStatusBuilder()
                .setErrorCode(Code.UNAVAILABLE)
                .setErrorMessage(each.getError()));
    return status.setState(ModelVersionStatus.State.LOADING).build();
  }

  private static TensorFlowIgniteException notFound(String reference) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_MODEL_NOT_FOUND,
        "Could not find any versions of model %s. The nodes serve deployed models. Deploy it:"
            + " tensorflow-ignite model deploy %1$s",
        reference);
  }
}
