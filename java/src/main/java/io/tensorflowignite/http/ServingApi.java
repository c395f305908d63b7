package io.tensorflowignite.http;

import static com.google.common.util.concurrent.Futures.transform;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.TypeRegistry;
import com.google.protobuf.util.JsonFormat;
import io.grpc.Channel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import io.tensorflowignite.serving.json.AnswerJson;
import io.tensorflowignite.serving.json.ExamplesJson;
import io.tensorflowignite.serving.json.PredictJson;
import io.tensorflowignite.serving.json.ServingPath;
import io.tensorflowignite.serving.v1.ClassificationRequest;
import io.tensorflowignite.serving.v1.DataType;
import io.tensorflowignite.serving.v1.GetModelMetadataRequest;
import io.tensorflowignite.serving.v1.GetModelMetadataResponse;
import io.tensorflowignite.serving.v1.GetModelStatusRequest;
import io.tensorflowignite.serving.v1.ModelServiceGrpc;
import io.tensorflowignite.serving.v1.ModelSpec;
import io.tensorflowignite.serving.v1.PredictRequest;
import io.tensorflowignite.serving.v1.PredictionServiceGrpc;
import io.tensorflowignite.serving.v1.RegressionRequest;
import io.tensorflowignite.serving.v1.SignatureDef;
import io.tensorflowignite.serving.v1.SignatureDefMap;
import io.tensorflowignite.serving.v1.TensorInfo;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** TensorFlow Serving's REST API: each request is one of JSON, and becomes calls of gRPC. */
final class ServingApi {
  /** Of the memory of a request. */
  interface Memory {
    /** Holds bytes until the answer; false: there is no room. */
    boolean hold(long bytes);
  }

  /** On the heap, of a text in a body, and of each part of an example. */
  private static final long OBJECT_BYTES = 64;

  private static final long EXAMPLE_PART_BYTES = 200;

  /** Of JSON, to bytes of tensors. */
  private static final long TEXT_FACTOR = 4;

  /** As Serving's own default. */
  private static final long TIMEOUT_S = 30;

  private static final String DEFAULT_SIGNATURE = "serving_default";
  private static final String SIGNATURES = "signature_def";
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer()
          .alwaysPrintFieldsWithNoPresence()
          .preservingProtoFieldNames()
          .usingTypeRegistry(TypeRegistry.getEmptyTypeRegistry());

  private final Channel services;
  private final Executor executor;

  /**
   * @param services answers PredictionService and ModelService of TensorFlow Serving
   * @param executor converts JSON
   */
  ServingApi(Channel services, Executor executor) {
    this.services = services;
    this.executor = executor;
  }

  /**
   * Answers a request without a body; fails with a status of gRPC.
   *
   * @param credentials the credentials of the caller
   */
  ListenableFuture<HttpAnswer> answer(ServingPath path, Metadata credentials) {
    if (path.method == ServingPath.Method.METADATA) {
      return transform(metadata(path.model, credentials), ServingApi::metadataJson, executor);
    }
    return transform(
        with(ModelServiceGrpc.newFutureStub(services), credentials)
            .getModelStatus(GetModelStatusRequest.newBuilder().setModelSpec(path.model).build()),
        response -> HttpAnswer.json(printed(response)),
        executor);
  }

  /**
   * Answers a request with a body; fails with a status of gRPC.
   *
   * @param metadata the model's; its version answers
   * @param memory for the values of the body and of the answer
   */
  ListenableFuture<HttpAnswer> answer(
      ServingPath path,
      GetModelMetadataResponse metadata,
      byte[] body,
      Metadata credentials,
      Memory memory) {
    ModelSpec model =
        metadata.getModelSpec().toBuilder().setSignatureName(PredictJson.signature(body)).build();
    switch (path.method) {
      case CLASSIFY:
        hold(memory, EXAMPLE_PART_BYTES * parts(body));
        return transform(
            prediction(credentials)
                .classify(
                    ClassificationRequest.newBuilder()
                        .setModelSpec(model)
                        .setInput(ExamplesJson.parse(body))
                        .build()),
            response -> HttpAnswer.json(AnswerJson.classifications(response.getResult())),
            executor);
      case REGRESS:
        hold(memory, EXAMPLE_PART_BYTES * parts(body));
        return transform(
            prediction(credentials)
                .regress(
                    RegressionRequest.newBuilder()
                        .setModelSpec(model)
                        .setInput(ExamplesJson.parse(body))
                        .build()),
            response -> HttpAnswer.json(AnswerJson.regressions(response.getResult())),
            executor);
      default:
        Map<String, TensorInfo> takes = signature(metadata, model).getInputsMap();
        if (takes.values().stream().anyMatch(input -> input.getDtype() == DataType.DT_STRING)) {
          hold(memory, OBJECT_BYTES * parts(body));
        }
        PredictJson inputs = PredictJson.parse(body, takes);
        PredictRequest request =
            PredictRequest.newBuilder().setModelSpec(model).putAllInputs(inputs.inputs).build();
        return transform(
            prediction(credentials).predict(request),
            response -> {
              hold(memory, TEXT_FACTOR * response.getSerializedSize());
              return HttpAnswer.json(AnswerJson.outputs(response.getOutputsMap(), inputs.isByRow));
            },
            executor);
    }
  }

  private static void hold(Memory memory, long bytes) {
    if (!memory.hold(bytes)) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription(
              String.format(
                  "The values of this request or of its answer need %,d bytes, for which the memory"
                      + " of all requests over HTTP has no room. It is a 16th of the heap. Send the"
                      + " request again later, or fewer rows in it",
                  bytes))
          .asRuntimeException();
    }
  }

  /** The most values and objects that a body may have, without reading it. */
  private static long parts(byte[] body) {
    long parts = 1;
    for (byte each : body) {
      if (each == ',' || each == '{') {
        parts++;
      }
    }
    return parts;
  }

  /** The signatures of a model, if the caller may call it. */
  ListenableFuture<GetModelMetadataResponse> metadata(ModelSpec model, Metadata credentials) {
    return prediction(credentials)
        .getModelMetadata(
            GetModelMetadataRequest.newBuilder()
                .setModelSpec(model)
                .addMetadataField(SIGNATURES)
                .build());
  }

  private static SignatureDef signature(GetModelMetadataResponse metadata, ModelSpec model) {
    String name = model.getSignatureName().isEmpty() ? DEFAULT_SIGNATURE : model.getSignatureName();
    SignatureDef found = signatures(metadata).getSignatureDefMap().get(name);
    if (found == null) {
      throw Status.INVALID_ARGUMENT
          .withDescription("Serving signature name: \"" + name + "\" not found in signature def")
          .asRuntimeException();
    }
    if (found.getInputsCount() == 0) {
      throw Status.INVALID_ARGUMENT
          .withDescription("Failed to get input map for signature: " + name)
          .asRuntimeException();
    }
    return found;
  }

  private static SignatureDefMap signatures(GetModelMetadataResponse metadata) {
    try {
      return metadata.getMetadataOrThrow(SIGNATURES).unpack(SignatureDefMap.class);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  private static HttpAnswer metadataJson(GetModelMetadataResponse metadata) {
    return HttpAnswer.json(
        "{\"model_spec\":"
            + printed(metadata.getModelSpec())
            + ",\"metadata\":{\"signature_def\":"
            + printed(signatures(metadata))
            + "}}");
  }

  private static String printed(com.google.protobuf.Message message) {
    try {
      return PRINTER.print(message);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  private PredictionServiceGrpc.PredictionServiceFutureStub prediction(Metadata credentials) {
    return with(PredictionServiceGrpc.newFutureStub(services), credentials);
  }

  /** The stub with the caller's credentials and a deadline. */
  static <T extends AbstractStub<T>> T with(T stub, Metadata credentials) {
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(credentials))
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
  }
}
