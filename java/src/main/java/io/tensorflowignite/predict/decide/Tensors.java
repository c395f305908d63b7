package io.tensorflowignite.predict.decide;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_UNUSABLE;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.PredictResponse;
import io.tensorflowignite.v1.Tensor;
import io.tensorflowignite.v1.TensorSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Checks, concatenates and splits the tensors of batches, by whole rows. */
public final class Tensors {
  public static final String STRING = "string";

  private static final int ANY = -1;

  private static final Map<String, Integer> BYTES =
      Map.ofEntries(
          Map.entry("bool", 1),
          Map.entry("int8", 1),
          Map.entry("uint8", 1),
          Map.entry("int16", 2),
          Map.entry("uint16", 2),
          Map.entry("float16", 2),
          Map.entry("bfloat16", 2),
          Map.entry("int32", 4),
          Map.entry("uint32", 4),
          Map.entry("float32", 4),
          Map.entry("int64", 8),
          Map.entry("uint64", 8),
          Map.entry("float64", 8),
          Map.entry("complex64", 8),
          Map.entry("complex128", 16));

  /** Prefixes of type names. A number converts to a type of its own kind, or of a later kind. */
  private static final List<String> KINDS =
      List.of("bool", "uint", "int", "float", "bfloat", "complex");

  private Tensors() {}

  /** The signature of a model by its name; the empty name is the default signature. */
  public static ModelSignature signature(ModelStatus model, String name) {
    List<ModelSignature> all = model.getSignaturesList();
    Optional<ModelSignature> found =
        all.stream().filter(one -> name.isEmpty() || one.getName().equals(name)).findFirst();
    return found.orElseThrow(
        () ->
            invalidRequest(
                "The model %s:%d has no signature '%s'. Its signatures are %s. Use one of them.",
                model.getKey().getName(),
                model.getKey().getNumber(),
                name,
                all.stream().map(ModelSignature::getName).collect(Collectors.joining(", "))));
  }

  /**
   * Verifies that the inputs of a request fit a signature.
   *
   * @return the number of rows
   * @throws TensorFlowIgniteException INVALID_REQUEST: the inputs do not fit.
   */
  public static int verify(PredictRequest request, ModelSignature signature) {
    Map<String, Tensor> byName = new HashMap<>();
    request.getInputsList().forEach(tensor -> byName.put(tensor.getName(), tensor));
    boolean sameNames =
        byName.size() == signature.getInputsCount()
            && request.getInputsCount() == byName.size()
            && signature.getInputsList().stream()
                .allMatch(spec -> byName.containsKey(spec.getName()));
    if (!sameNames) {
      String given = request.getInputsCount() == 0 ? "none" : text(request);
      throw invalid(signature, "The inputs are " + given);
    }
    long rows = ANY;
    for (TensorSpec spec : signature.getInputsList()) {
      Tensor tensor = byName.get(spec.getName());
      if (!converts(tensor.getDtype(), spec.getDtype()) || !fits(tensor, spec)) {
        throw invalid(signature, "The input " + text(tensor) + " does not fit " + text(spec));
      }
      if (rows != ANY && rows != tensor.getShape(0)) {
        throw invalid(signature, "The inputs have different numbers of rows: " + text(request));
      }
      rows = tensor.getShape(0);
      if (!hasAllElements(tensor)) {
        throw invalid(
            signature,
            "The input " + text(tensor) + " has not the number of elements of its shape");
      }
    }
    if (rows < 0 || rows > Integer.MAX_VALUE) {
      throw invalid(signature, "The request has " + rows + " rows");
    }
    return (int) rows;
  }

  /**
   * A value that is equal for requests of one batch: same signature, same shape and type of rows.
   */
  public static Object group(PredictRequest request) {
    List<Object> group = new ArrayList<>();
    group.add(request.getSignature());
    for (Tensor tensor : request.getInputsList()) {
      group.add(tensor.getName());
      group.add(tensor.getDtype());
      group.add(tensor.getShapeList().subList(1, tensor.getShapeCount()));
    }
    return group;
  }

  /** One request with the rows of all requests, which have equal groups. */
  public static PredictRequest concatenate(List<PredictRequest> requests) {
    PredictRequest first = requests.get(0);
    if (requests.size() == 1) {
      return first;
    }
    PredictRequest.Builder all = first.toBuilder();
    for (Tensor.Builder tensor : all.getInputsBuilderList()) {
      List<Tensor> parts = new ArrayList<>();
      for (PredictRequest request : requests) {
        parts.add(input(request, tensor.getName()));
      }
      join(tensor, parts);
    }
    return all.build();
  }

  /**
   * One response with the rows of all responses, in their order.
   *
   * @throws TensorFlowIgniteException MODEL_UNUSABLE: the outputs differ in more than their rows.
   */
  public static PredictResponse join(List<PredictResponse> responses) {
    PredictResponse first = responses.get(0);
    for (PredictResponse other : responses) {
      requireSameRows(first, other);
    }
    PredictResponse.Builder all = first.toBuilder();
    for (int i = 0; i < all.getOutputsCount(); i++) {
      int output = i;
      join(
          all.getOutputsBuilder(i),
          responses.stream().map(one -> one.getOutputs(output)).collect(Collectors.toList()));
    }
    return all.build();
  }

  /**
   * The rows of a response in another order.
   *
   * @param order for each row of the result, its number in the response
   */
  public static PredictResponse reorder(PredictResponse response, int[] order) {
    PredictResponse.Builder all = response.toBuilder();
    for (Tensor.Builder tensor : all.getOutputsBuilderList()) {
      Tensor before = tensor.build();
      int size = rowSize(before);
      if (before.getDtype().equals(STRING)) {
        tensor.clearStrings();
        for (int row : order) {
          tensor.addAllStrings(before.getStringsList().subList(row * size, (row + 1) * size));
        }
      } else {
        ByteString.Output data = ByteString.newOutput(size * order.length);
        byte[] bytes = before.getData().toByteArray();
        for (int row : order) {
          data.write(bytes, row * size, size);
        }
        tensor.setData(data.toByteString());
      }
    }
    return all.build();
  }

  /**
   * The parts of a response, each with some of its rows.
   *
   * @param rows the numbers of rows of the parts
   * @throws TensorFlowIgniteException MODEL_UNUSABLE: an output has another number of rows.
   */
  public static List<PredictResponse> split(PredictResponse response, int[] rows) {
    int total = 0;
    List<PredictResponse.Builder> parts = new ArrayList<>();
    for (int count : rows) {
      total += count;
      parts.add(PredictResponse.newBuilder().setNumber(response.getNumber()));
    }
    for (Tensor tensor : response.getOutputsList()) {
      if (tensor.getShapeCount() == 0 || tensor.getShape(0) != total) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_MODEL_UNUSABLE,
            "The model has returned %s for a batch of %d rows. The first axis of each output is"
                + " the rows of the batch. Correct the model, and make a new version of it.",
            text(tensor),
            total);
      }
      int size = rowSize(tensor);
      int from = 0;
      for (int part = 0; part < rows.length; part++) {
        int to = from + rows[part];
        Tensor.Builder cut =
            Tensor.newBuilder()
                .setName(tensor.getName())
                .setDtype(tensor.getDtype())
                .addAllShape(tensor.getShapeList())
                .setShape(0, rows[part]);
        if (tensor.getDtype().equals(STRING)) {
          cut.addAllStrings(tensor.getStringsList().subList(from * size, to * size));
        } else {
          cut.setData(tensor.getData().substring(from * size, to * size));
        }
        parts.get(part).addOutputs(cut);
        from = to;
      }
    }
    return parts.stream().map(PredictResponse.Builder::build).collect(Collectors.toList());
  }

  /** Bytes of an element of a TensorFlow type; empty for strings and unknown types. */
  public static Optional<Integer> elementBytes(String dtype) {
    return Optional.ofNullable(BYTES.get(dtype));
  }

  /** A tensor's name, type and shape as text: {@code x: float32[?, 64]}. */
  public static String text(TensorSpec spec) {
    String shape =
        spec.getShapeList().stream()
            .map(size -> size < 0 ? "?" : String.valueOf(size))
            .collect(Collectors.joining(", "));
    return spec.getName()
        + ": "
        + spec.getDtype()
        + "["
        + (spec.getAnyRank() ? "..." : shape)
        + "]";
  }

  private static void join(Tensor.Builder into, List<Tensor> parts) {
    long rows = 0;
    ByteString data = ByteString.EMPTY;
    into.clearStrings();
    for (Tensor part : parts) {
      rows += part.getShape(0);
      data = data.concat(part.getData());
      into.addAllStrings(part.getStringsList());
    }
    into.setShape(0, rows).setData(data);
  }

  private static void requireSameRows(PredictResponse one, PredictResponse other) {
    if (!rowTypes(one).equals(rowTypes(other))) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_MODEL_UNUSABLE,
          "The model has returned %s for some rows, and %s for others, which went into it in"
              + " another batch. The rows of an output have one shape and type, or they cannot be"
              + " put together. Predict one key at a time, or make a version of the model that pads"
              + " its outputs to a fixed size.",
          text(one),
          text(other));
    }
  }

  /** Equal for responses whose outputs differ only in the number and the values of rows. */
  private static List<Tensor> rowTypes(PredictResponse response) {
    return response.getOutputsList().stream()
        .map(
            tensor ->
                Tensor.newBuilder()
                    .setName(tensor.getName())
                    .setDtype(tensor.getDtype())
                    .addAllShape(tensor.getShapeList())
                    .setShape(0, ANY)
                    .build())
        .collect(Collectors.toList());
  }

  private static Tensor input(PredictRequest request, String name) {
    for (Tensor tensor : request.getInputsList()) {
      if (tensor.getName().equals(name)) {
        return tensor;
      }
    }
    throw new IllegalArgumentException("The requests of a batch have different inputs");
  }

  /** Number of bytes of a row; for strings, number of strings. */
  private static int rowSize(Tensor tensor) {
    long elements = 1;
    for (long size : tensor.getShapeList().subList(1, tensor.getShapeCount())) {
      elements *= size;
    }
    return (int) (elements * elementBytes(tensor.getDtype()).orElse(1));
  }

  /** Whether the process of a model converts values of the given type to the expected type. */
  private static boolean converts(String given, String expected) {
    int kind = kind(given);
    // The process refuses integers that an unsigned type does not have.
    boolean areIntegers = given.startsWith("int") && expected.startsWith("uint");
    return given.equals(expected) || areIntegers || (kind >= 0 && kind <= kind(expected));
  }

  /** The index of a type in KINDS; -1: it is not there. */
  private static int kind(String dtype) {
    for (int kind = 0; kind < KINDS.size(); kind++) {
      if (dtype.startsWith(KINDS.get(kind))) {
        return kind;
      }
    }
    return -1;
  }

  private static boolean fits(Tensor tensor, TensorSpec spec) {
    if (spec.getAnyRank()) {
      return tensor.getShapeCount() > 0;
    }
    boolean fits = tensor.getShapeCount() == spec.getShapeCount() && tensor.getShapeCount() > 0;
    for (int axis = 0; fits && axis < spec.getShapeCount(); axis++) {
      fits = spec.getShape(axis) == ANY || spec.getShape(axis) == tensor.getShape(axis);
    }
    return fits;
  }

  private static boolean hasAllElements(Tensor tensor) {
    long elements = 1;
    for (long size : tensor.getShapeList()) {
      if (size < 0 || (size > 0 && elements > Integer.MAX_VALUE / size)) {
        return false;
      }
      elements *= size;
    }
    long count = elements;
    return tensor.getDtype().equals(STRING)
        ? tensor.getStringsCount() == count && tensor.getData().isEmpty()
        : tensor.getStringsCount() == 0
            && elementBytes(tensor.getDtype())
                .map(bytes -> tensor.getData().size() == count * bytes)
                .orElse(false);
  }

  private static String text(PredictRequest request) {
    return text(request.getInputsList());
  }

  private static String text(PredictResponse response) {
    return text(response.getOutputsList());
  }

  private static String text(List<Tensor> tensors) {
    return tensors.stream().map(Tensors::text).collect(Collectors.joining(", "));
  }

  private static String text(Tensor tensor) {
    return tensor.getName() + ": " + tensor.getDtype() + tensor.getShapeList();
  }

  private static TensorFlowIgniteException invalid(ModelSignature signature, String event) {
    return invalidRequest(
        "%s. The signature %s takes %s; ? is any size, and the first axis is the rows. Send exactly"
            + " these inputs.",
        event,
        signature.getName(),
        signature.getInputsList().stream().map(Tensors::text).collect(Collectors.joining(", ")));
  }
}
