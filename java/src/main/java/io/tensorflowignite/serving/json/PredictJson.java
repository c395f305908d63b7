package io.tensorflowignite.serving.json;

import com.fasterxml.jackson.core.JsonToken;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.serving.v1.TensorInfo;
import io.tensorflowignite.serving.v1.TensorProto;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The body of {@code :predict}: {@code {"instances": [...]}}, one element for each row, or {@code
 * {"inputs": ...}}, one value for each input.
 */
public final class PredictJson {
  private static final String SIGNATURE = "signature_name";
  private static final String INSTANCES = "instances";
  private static final String INPUTS = "inputs";

  /** The inputs of the request, by name. */
  public final Map<String, TensorProto> inputs;

  /** Whether the request has rows, so that the answer has rows too. */
  public final boolean isByRow;

  private PredictJson(Map<String, TensorProto> inputs, boolean isByRow) {
    this.inputs = inputs;
    this.isByRow = isByRow;
  }

  /** The signature that a body names; empty: the default one. */
  public static String signature(byte[] body) {
    String found = "";
    try (JsonReader json = new JsonReader(body)) {
      requireObject(json);
      while (json.next() == JsonToken.FIELD_NAME) {
        boolean isSignature = json.name().equals(SIGNATURE);
        json.next();
        if (isSignature) {
          if (json.token() != JsonToken.VALUE_STRING) {
            throw ServingErrors.invalid(
                "JSON Value: "
                    + json.debug()
                    + " not formatted correctly. 'signature_name' key must be a string value.");
          }
          found = json.text();
        }
        json.skip();
      }
      json.end();
    }
    return found;
  }

  /**
   * Reads the inputs.
   *
   * @param signature the inputs of the signature, by name
   */
  public static PredictJson parse(byte[] body, Map<String, TensorInfo> signature) {
    PredictJson found = null;
    try (JsonReader json = new JsonReader(body)) {
      requireObject(json);
      while (json.next() == JsonToken.FIELD_NAME) {
        String name = json.name();
        json.next();
        boolean isInstances = name.equals(INSTANCES);
        if (!isInstances && !name.equals(INPUTS)) {
          json.skip();
          continue;
        }
        if (found != null) {
          throw ServingErrors.invalid(
              "JSON Value: {...} Not formatted correctly expecting only one of 'inputs' or"
                  + " 'instances' keys to exist ");
        }
        found =
            isInstances
                ? new PredictJson(instances(json, signature), true)
                : new PredictJson(inputs(json, signature), false);
      }
      json.end();
    }
    if (found == null) {
      throw ServingErrors.invalid("Missing 'inputs' or 'instances' key");
    }
    return found;
  }

  private static void requireObject(JsonReader json) {
    if (json.next() != JsonToken.START_OBJECT) {
      throw ServingErrors.invalid("JSON Value: " + json.debug() + " Is not object");
    }
  }

  private static Map<String, TensorProto> instances(
      JsonReader json, Map<String, TensorInfo> signature) {
    if (json.token() != JsonToken.START_ARRAY) {
      throw ServingErrors.invalid(
          "JSON Value: " + json.debug() + " Expecting 'instances' to be an list/array");
    }
    Map<String, TensorBuilder> builders = builders(signature);
    Boolean areObjects = null;
    int element = 0;
    while (json.next() != JsonToken.END_ARRAY) {
      boolean isObject = isObject(json, builders);
      if (areObjects == null) {
        areObjects = isObject;
        if (!isObject && signature.size() > 1) {
          throw ServingErrors.invalid(
              "instances is a plain list, but expecting list of objects as multiple input tensors"
                  + " required as per tensorinfo_map");
        }
      }
      if (isObject != areObjects) {
        throw ServingErrors.invalid(
            String.format(
                areObjects
                    ? "Expecting object but got list at item %d of input list"
                    : "Expecting value/list but got object at item %d of input list",
                element));
      }
      if (isObject) {
        addRow(json, builders, element);
      } else {
        addPlain(json, builders.values().iterator().next(), element);
      }
      element++;
    }
    if (element == 0) {
      throw ServingErrors.invalid("JSON Value: {...} No values in 'instances' array");
    }
    Map<String, TensorProto> tensors = new LinkedHashMap<>();
    builders.forEach((name, builder) -> tensors.put(name, builder.stacked()));
    return tensors;
  }

  /**
   * Whether the value is an object with a field for each input; the reader then moves to the first
   * field. An object with the field {@code b64} alone is the bytes of one input; the reader moves
   * to that field.
   */
  private static boolean isObject(JsonReader json, Map<String, TensorBuilder> builders) {
    if (json.token() != JsonToken.START_OBJECT) {
      return false;
    }
    boolean isBytes = json.next() == JsonToken.FIELD_NAME && json.name().equals("b64");
    return !isBytes || builders.size() > 1 || builders.containsKey("b64");
  }

  private static void addPlain(JsonReader json, TensorBuilder builder, int element) {
    try {
      builder.addInstance(json);
    } catch (StatusRuntimeException e) {
      throw ServingErrors.within(
          "Failed to process element: " + element + " of 'instances' list.", e);
    }
  }

  /** Reads the fields of an object; the reader is at the first one, or at the end. */
  private static void addRow(JsonReader json, Map<String, TensorBuilder> builders, int element) {
    Set<String> names = new TreeSet<>();
    for (; json.token() == JsonToken.FIELD_NAME; json.next()) {
      String name = json.name();
      json.next();
      names.add(name);
      try {
        TensorBuilder builder = builders.get(name);
        if (builder == null) {
          throw ServingErrors.invalid("JSON object: does not have named input: " + name);
        }
        builder.addInstance(json);
      } catch (StatusRuntimeException e) {
        throw ServingErrors.within(
            "Failed to process element: " + element + " key: " + name + " of 'instances' list.", e);
      }
    }
    if (!names.equals(builders.keySet())) {
      throw ServingErrors.invalid(
          "Failed to process element: "
              + element
              + " of 'instances' list. JSON object: {...} keys must be equal to: "
              + String.join(",", builders.keySet()));
    }
  }

  private static Map<String, TensorProto> inputs(
      JsonReader json, Map<String, TensorInfo> signature) {
    Map<String, TensorBuilder> builders = builders(signature);
    Map<String, TensorProto> tensors = new LinkedHashMap<>();
    if (!isObject(json, builders)) {
      if (signature.size() > 1) {
        throw ServingErrors.invalid(
            "inputs is a plain value/list, but expecting an object as multiple input tensors"
                + " required as per tensorinfo_map");
      }
      String only = signature.keySet().iterator().next();
      builders.get(only).addValue(json);
      tensors.put(only, builders.get(only).single());
      return tensors;
    }
    for (; json.token() == JsonToken.FIELD_NAME; json.next()) {
      String name = json.name();
      TensorBuilder builder = builders.get(name);
      json.next();
      if (builder == null) {
        json.skip();
        continue;
      }
      builder.addValue(json);
      tensors.put(name, builder.single());
    }
    for (String name : builders.keySet()) {
      if (!tensors.containsKey(name)) {
        throw ServingErrors.invalid("Missing named input: " + name + " in 'inputs' object.");
      }
    }
    return tensors;
  }

  private static Map<String, TensorBuilder> builders(Map<String, TensorInfo> signature) {
    Map<String, TensorBuilder> builders = new TreeMap<>();
    signature.forEach((name, input) -> builders.put(name, new TensorBuilder(input.getDtype())));
    return builders;
  }
}
