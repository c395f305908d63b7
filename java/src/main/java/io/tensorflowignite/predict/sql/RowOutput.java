package io.tensorflowignite.predict.sql;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.PlainTensors;
import io.tensorflowignite.predict.decide.Tensors;
import io.tensorflowignite.v1.Tensor;
import java.lang.reflect.Array;
import java.util.List;

/** The results of the SQL functions for the output of a model for one row. */
final class RowOutput {
  private static final List<String> FLOATS = List.of("float32", "float64");

  private RowOutput() {}

  /**
   * The number of a row; of several floats, such as shares of classes, the index of the greatest
   * one: not a number if one of them is not.
   */
  static Double number(Tensor output) {
    if (output.getDtype().equals(Tensors.STRING)) {
      throw misfit(output, "TF_PREDICT is one number", "TF_PREDICT_TEXT");
    }
    Object elements = PlainTensors.row(output);
    int size = Array.getLength(elements);
    if (size == 1) {
      return number(Array.get(elements, 0));
    }
    if (size == 0 || output.getShapeCount() != 2 || !FLOATS.contains(output.getDtype())) {
      throw misfit(
          output,
          "TF_PREDICT is one number, or the index of the greatest of several floats",
          "TF_PREDICT_ARRAY");
    }
    int greatest = 0;
    for (int i = 0; i < size; i++) {
      double element = Array.getDouble(elements, i);
      if (Double.isNaN(element)) {
        return Double.NaN;
      }
      if (element > Array.getDouble(elements, greatest)) {
        greatest = i;
      }
    }
    return (double) greatest;
  }

  /** All values of a row, one after the other. */
  static Object[] array(Tensor output) {
    Object elements = PlainTensors.row(output);
    Object[] boxed = new Object[Array.getLength(elements)];
    for (int i = 0; i < boxed.length; i++) {
      boxed[i] = Array.get(elements, i);
    }
    return boxed;
  }

  /** The text of a row. */
  static String text(Tensor output) {
    if (!output.getDtype().equals(Tensors.STRING)) {
      throw misfit(output, "TF_PREDICT_TEXT is one text", "TF_PREDICT or TF_PREDICT_ARRAY");
    }
    String[] texts = (String[]) PlainTensors.row(output);
    if (texts.length != 1) {
      throw misfit(output, "TF_PREDICT_TEXT is one text", "TF_PREDICT_ARRAY");
    }
    return texts[0];
  }

  private static double number(Object element) {
    if (element instanceof Boolean) {
      return (Boolean) element ? 1 : 0;
    }
    return ((Number) element).doubleValue();
  }

  private static TensorFlowIgniteException misfit(Tensor output, String rule, String other) {
    return invalidRequest(
        "The output %s is %s%s for a row. %s. Call %s.",
        output.getName(),
        output.getDtype(),
        output.getShapeList().subList(1, output.getShapeCount()),
        rule,
        other);
  }
}
