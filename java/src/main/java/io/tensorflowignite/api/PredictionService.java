package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_FOUND;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.Predictor;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.serving.v1.Class;
import io.tensorflowignite.serving.v1.ClassificationRequest;
import io.tensorflowignite.serving.v1.ClassificationResponse;
import io.tensorflowignite.serving.v1.Classifications;
import io.tensorflowignite.serving.v1.Example;
import io.tensorflowignite.serving.v1.GetModelMetadataRequest;
import io.tensorflowignite.serving.v1.GetModelMetadataResponse;
import io.tensorflowignite.serving.v1.Input;
import io.tensorflowignite.serving.v1.ModelSpec;
import io.tensorflowignite.serving.v1.PredictRequest;
import io.tensorflowignite.serving.v1.PredictResponse;
import io.tensorflowignite.serving.v1.PredictionServiceGrpc;
import io.tensorflowignite.serving.v1.Regression;
import io.tensorflowignite.serving.v1.RegressionRequest;
import io.tensorflowignite.serving.v1.RegressionResponse;
import io.tensorflowignite.serving.v1.SignatureDefMap;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/** TensorFlow Serving's own service, for its clients: the models that the nodes serve. */
public final class PredictionService extends PredictionServiceGrpc.PredictionServiceImplBase {
  private static final String SIGNATURES = "signature_def";
  private static final long MAX_CONTEXT_BYTES = 16L << 20;
  private static final String CLASSES = "classes";
  private static final String SCORES = "scores";
  private static final String OUTPUTS = "outputs";

  private final Predictor predictor;
  private final ServedReferences references;
  private final Guard guard;

  /**
   * @param guard authorizes each call
   */
  public PredictionService(Predictor predictor, ServedReferences references, Guard guard) {
    this.predictor = predictor;
    this.references = references;
    this.guard = guard;
  }

  @Override
  public void predict(PredictRequest request, StreamObserver<PredictResponse> observer) {
    ModelSpec spec = request.getModelSpec();
    guard.predict(Predictor.name(spec.getName()));
    io.tensorflowignite.v1.PredictRequest.Builder ours = request(spec);
    new TreeMap<>(request.getInputsMap())
        .forEach((name, tensor) -> ours.addInputs(ServingTensors.ours(name, tensor)));
    Set<String> filter = new TreeSet<>(request.getOutputFilterList());
    Predictions.complete(
        observer,
        predicted(spec, ours),
        response -> {
          PredictResponse.Builder answer =
              PredictResponse.newBuilder().setModelSpec(answered(spec, response.getNumber()));
          for (Tensor output : response.getOutputsList()) {
            if (filter.isEmpty() || filter.remove(output.getName())) {
              answer.putOutputs(output.getName(), ServingTensors.serving(output));
            }
          }
          if (!filter.isEmpty()) {
            throw invalidRequest(
                "output tensor alias not found in signature: %.200s Outputs expected to be in the"
                    + " set {%s}.",
                filter.iterator().next(),
                String.join(
                    ",",
                    response.getOutputsList().stream()
                        .map(Tensor::getName)
                        .toArray(String[]::new)));
          }
          return answer.build();
        });
  }

  @Override
  public void classify(
      ClassificationRequest request, StreamObserver<ClassificationResponse> observer) {
    ModelSpec spec = request.getModelSpec();
    guard.predict(Predictor.name(spec.getName()));
    Predictions.complete(
        observer,
        predicted(spec, examples(spec, request.getInput())),
        response -> {
          ClassificationResponse.Builder answer =
              ClassificationResponse.newBuilder()
                  .setModelSpec(answered(spec, response.getNumber()));
          Tensor scores = output(response, SCORES, "float32");
          Tensor classes = output(response, CLASSES, "string");
          if (scores == null && classes == null) {
            throw unfit("classify", CLASSES + " (string) or " + SCORES + " (float32)");
          }
          Tensor rows = scores == null ? classes : scores;
          int width = width(rows);
          ByteBuffer values = scores == null ? null : data(scores);
          for (int row = 0; row < rows.getShape(0); row++) {
            Classifications.Builder found = answer.getResultBuilder().addClassificationsBuilder();
            for (int column = 0; column < width; column++) {
              Class.Builder each = found.addClassesBuilder();
              if (classes != null) {
                each.setLabel(classes.getStrings(row * width + column).toStringUtf8());
              }
              if (values != null) {
                each.setScore(values.getFloat());
              }
            }
          }
          return answer.build();
        });
  }

  @Override
  public void regress(RegressionRequest request, StreamObserver<RegressionResponse> observer) {
    ModelSpec spec = request.getModelSpec();
    guard.predict(Predictor.name(spec.getName()));
    Predictions.complete(
        observer,
        predicted(spec, examples(spec, request.getInput())),
        response -> {
          Tensor outputs = output(response, OUTPUTS, "float32");
          if (outputs == null || width(outputs) != 1) {
            throw unfit("regress", OUTPUTS + " (float32, one number for each row)");
          }
          RegressionResponse.Builder answer =
              RegressionResponse.newBuilder().setModelSpec(answered(spec, response.getNumber()));
          for (ByteBuffer values = data(outputs); values.hasRemaining(); ) {
            answer
                .getResultBuilder()
                .addRegressions(Regression.newBuilder().setValue(values.getFloat()));
          }
          return answer.build();
        });
  }

  @Override
  public void getModelMetadata(
      GetModelMetadataRequest request, StreamObserver<GetModelMetadataResponse> observer) {
    ModelSpec spec = request.getModelSpec();
    guard.predict(Predictor.name(spec.getName()));
    if (request.getMetadataFieldCount() == 0) {
      throw invalid("GetModelMetadataRequest must specify at least one metadata_field");
    }
    for (String field : request.getMetadataFieldList()) {
      if (!field.equals(SIGNATURES)) {
        throw invalid("Metadata field " + field + " is not supported");
      }
    }
    ModelStatus served = served(spec);
    SignatureDefMap.Builder signatures = SignatureDefMap.newBuilder();
    for (ModelSignature signature : served.getSignaturesList()) {
      signatures.putSignatureDef(signature.getName(), ServingTensors.serving(signature));
    }
    observer.onNext(
        GetModelMetadataResponse.newBuilder()
            .setModelSpec(answered(spec, served.getKey().getNumber()))
            .putMetadata(SIGNATURES, Any.pack(signatures.build()))
            .build());
    observer.onCompleted();
  }

  private CompletableFuture<io.tensorflowignite.v1.PredictResponse> predicted(
      ModelSpec spec, io.tensorflowignite.v1.PredictRequest.Builder request) {
    return predictor
        .predict(request.build(), Predictions.deadline())
        .exceptionally(
            error -> {
              throw named(spec, error);
            });
  }

  private io.tensorflowignite.v1.PredictRequest.Builder request(ModelSpec spec) {
    return io.tensorflowignite.v1.PredictRequest.newBuilder()
        .setModel(references.of(spec))
        .setSignature(spec.getSignatureName());
  }

  private ModelStatus served(ModelSpec spec) {
    try {
      return predictor.serving(references.of(spec));
    } catch (TensorFlowIgniteException e) {
      throw named(spec, e);
    }
  }

  /** The request of a signature whose only input is serialized examples. */
  private io.tensorflowignite.v1.PredictRequest.Builder examples(ModelSpec spec, Input input) {
    long bytes =
        (long) input.getExampleListWithContext().getContext().getSerializedSize()
            * input.getExampleListWithContext().getExamplesCount();
    if (bytes > MAX_CONTEXT_BYTES) {
      throw invalid(
          String.format(
              "The context is a part of each example, which together would have %,d bytes. That is"
                  + " at most %,d. Send fewer examples at a time",
              bytes, MAX_CONTEXT_BYTES));
    }
    List<ByteString> serialized =
        input.getKindCase() == Input.KindCase.EXAMPLE_LIST
            ? input.getExampleList().getExamplesList().stream()
                .map(Example::toByteString)
                .collect(Collectors.toList())
            : input.getExampleListWithContext().getExamplesList().stream()
                .map(
                    example ->
                        // A feature of the example overrides the context's feature of that name.
                        input.getExampleListWithContext().getContext().toBuilder()
                            .mergeFrom(example)
                            .build()
                            .toByteString())
                .collect(Collectors.toList());
    if (serialized.isEmpty()) {
      throw invalid("Input is empty");
    }
    ModelStatus served = served(spec);
    ModelSignature signature =
        served.getSignaturesList().stream()
            .filter(
                each ->
                    spec.getSignatureName().isEmpty()
                        || each.getName().equals(spec.getSignatureName()))
            .findFirst()
            .orElseThrow(
                () ->
                    invalid(
                        "Serving signature name: \""
                            + spec.getSignatureName()
                            + "\" not found in signature def"));
    if (signature.getInputsCount() != 1
        || !signature.getInputs(0).getDtype().equals("string")
        || signature.getInputs(0).getShapeCount() != 1) {
      throw invalid(
          "The signature "
              + signature.getName()
              + " takes no examples. Classify and Regress need a signature with one input of type"
              + " string and shape [?], which parses serialized tf.train.Example. Call Predict");
    }
    return request(spec)
        .addInputs(
            Tensor.newBuilder()
                .setName(signature.getInputs(0).getName())
                .setDtype("string")
                .addShape(serialized.size())
                .addAllStrings(serialized));
  }

  private static Tensor output(
      io.tensorflowignite.v1.PredictResponse response, String name, String dtype) {
    for (Tensor output : response.getOutputsList()) {
      if (output.getName().equals(name)
          && output.getDtype().equals(dtype)
          && output.getShapeCount() > 0) {
        return output;
      }
    }
    return null;
  }

  private static int width(Tensor tensor) {
    long width = 1;
    for (int axis = 1; axis < tensor.getShapeCount(); axis++) {
      width *= tensor.getShape(axis);
    }
    return Math.toIntExact(width);
  }

  private static ByteBuffer data(Tensor tensor) {
    return tensor.getData().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  private static ModelSpec answered(ModelSpec spec, long number) {
    ModelSpec.Builder answered = spec.toBuilder();
    answered.getVersionBuilder().setValue(number);
    return answered.build();
  }

  /** Begins the error of a model that is not there as Serving does, for programs that match it. */
  private static TensorFlowIgniteException named(ModelSpec spec, Throwable error) {
    Throwable cause = Predictions.cause(error);
    if (!(cause instanceof TensorFlowIgniteException)) {
      throw cause instanceof RuntimeException
          ? (RuntimeException) cause
          : new IllegalStateException(cause);
    }
    TensorFlowIgniteException known = (TensorFlowIgniteException) cause;
    if (known.code() != ERROR_CODE_MODEL_NOT_FOUND || spec.hasVersionLabel()) {
      return known;
    }
    String servable =
        spec.hasVersion()
            ? "Specific(" + spec.getName() + ", " + spec.getVersion().getValue() + ")"
            : "Latest(" + spec.getName() + ")";
    return new TensorFlowIgniteException(
        known.code(), "Servable not found for request: " + servable + ". " + known.getMessage());
  }

  private static TensorFlowIgniteException unfit(String method, String outputs) {
    return invalid(
        "The signature does not "
            + method
            + ": it has no output "
            + outputs
            + ". Call Predict, or name another signature");
  }

  private static TensorFlowIgniteException invalid(String text) {
    return new TensorFlowIgniteException(ERROR_CODE_INVALID_REQUEST, text);
  }
}
