package io.tensorflowignite.predict;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.predict.decide.Tensors;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.TensorSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The arguments of a function that predicts one row, as the inputs and the output of a model. */
final class RowArguments {
  private RowArguments() {}

  /** The name of an output; the only one if none is given. */
  static String output(String model, ModelSignature signature, String given) {
    List<String> names =
        signature.getOutputsList().stream().map(TensorSpec::getName).collect(Collectors.toList());
    if (given.isEmpty() && names.size() == 1) {
      return names.get(0);
    }
    if (!names.contains(given)) {
      throw invalidRequest(
          "The model %s has the outputs %s, and the call names %s. A call returns one output. Name"
              + " it after a #, such as '%s#%s'.",
          model,
          names,
          given.isEmpty() ? "none" : "'" + given + "'",
          Predictor.name(model),
          names.isEmpty() ? "output" : names.get(0));
    }
    return given;
  }

  /**
   * A request with one row.
   *
   * @param values the value of the only input, or the name and the value of each input in turn
   */
  static PredictRequest.Builder inputs(
      String model, ModelSignature signature, List<Object> values) {
    Map<Object, Object> byName = new HashMap<>();
    if (values.size() == 1 && signature.getInputsCount() == 1) {
      byName.put(signature.getInputs(0).getName(), values.get(0));
    } else if (values.size() % 2 == 0) {
      for (int i = 0; i < values.size(); i += 2) {
        if (byName.putIfAbsent(values.get(i), values.get(i + 1)) != null) {
          throw invalidRequest(
              "The call of the model %s has the input '%s' twice. Each input has one value. Leave"
                  + " one of them out.",
              model, values.get(i));
        }
      }
    }
    List<String> names =
        signature.getInputsList().stream().map(TensorSpec::getName).collect(Collectors.toList());
    if (!byName.keySet().equals(Set.copyOf(names))) {
      throw invalidRequest(
          "The model %s takes the inputs %s, and the call has %d values. A call has the value of"
              + " the only input, or the name and the value of each input in turn. Several columns"
              + " of one input are a list: (a, b). Give these values.",
          model,
          signature.getInputsList().stream().map(Tensors::text).collect(Collectors.toList()),
          values.size());
    }
    PredictRequest.Builder request = PredictRequest.newBuilder();
    for (TensorSpec spec : signature.getInputsList()) {
      request.addInputs(PlainTensors.ofRows(spec, byName.get(spec.getName())));
    }
    return request;
  }
}
