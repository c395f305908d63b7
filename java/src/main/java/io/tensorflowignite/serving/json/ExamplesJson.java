package io.tensorflowignite.serving.json;

import com.fasterxml.jackson.core.JsonToken;
import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.serving.v1.Example;
import io.tensorflowignite.serving.v1.ExampleList;
import io.tensorflowignite.serving.v1.ExampleListWithContext;
import io.tensorflowignite.serving.v1.Feature;
import io.tensorflowignite.serving.v1.Input;

/** The body of {@code :classify} and {@code :regress}: examples, with features by name. */
public final class ExamplesJson {
  private ExamplesJson() {}

  /** Reads the examples. */
  public static Input parse(byte[] body) {
    ExampleList.Builder examples = null;
    Example context = null;
    try (JsonReader json = new JsonReader(body)) {
      if (json.next() != JsonToken.START_OBJECT) {
        throw ServingErrors.invalid("JSON Value: " + json.debug() + " Is not object");
      }
      while (json.next() == JsonToken.FIELD_NAME) {
        String name = json.name();
        json.next();
        if (name.equals("context")) {
          context = example(json);
        } else if (name.equals("examples")) {
          examples = examples(json);
        } else {
          json.skip();
        }
      }
      json.end();
    }
    if (examples == null) {
      throw ServingErrors.invalid(
          "JSON Value: {...} When method is classify, key 'examples' is expected and was not"
              + " found");
    }
    if (context == null) {
      return Input.newBuilder().setExampleList(examples).build();
    }
    return Input.newBuilder()
        .setExampleListWithContext(
            ExampleListWithContext.newBuilder()
                .addAllExamples(examples.getExamplesList())
                .setContext(context))
        .build();
  }

  private static ExampleList.Builder examples(JsonReader json) {
    if (json.token() != JsonToken.START_ARRAY) {
      throw ServingErrors.invalid(
          "JSON Value: " + json.debug() + " Expecting 'examples' value to be an list/array");
    }
    ExampleList.Builder examples = ExampleList.newBuilder();
    while (json.next() != JsonToken.END_ARRAY) {
      examples.addExamples(example(json));
    }
    if (examples.getExamplesCount() == 0) {
      throw ServingErrors.invalid("JSON Value: {...} 'examples' value is an empty array");
    }
    return examples;
  }

  private static Example example(JsonReader json) {
    if (json.token() != JsonToken.START_OBJECT) {
      throw ServingErrors.invalid("Example must be JSON object but got JSON " + json.type());
    }
    Example.Builder example = Example.newBuilder();
    while (json.next() == JsonToken.FIELD_NAME) {
      String name = json.name();
      Feature.Builder feature = Feature.newBuilder();
      if (json.next() == JsonToken.START_ARRAY) {
        while (json.next() != JsonToken.END_ARRAY) {
          addValue(json, name, feature);
        }
      } else {
        addValue(json, name, feature);
      }
      example.getFeaturesBuilder().putFeature(name, feature.build());
    }
    return example.build();
  }

  private static void addValue(JsonReader json, String name, Feature.Builder feature) {
    switch (json.token()) {
      case VALUE_TRUE:
      case VALUE_FALSE:
        require(feature, name, Feature.KindCase.INT64_LIST);
        feature.getInt64ListBuilder().addValue(json.token() == JsonToken.VALUE_TRUE ? 1 : 0);
        return;
      case VALUE_NUMBER_INT:
        require(feature, name, Feature.KindCase.INT64_LIST);
        try {
          feature.getInt64ListBuilder().addValue(json.call(json.parser()::getLongValue));
        } catch (StatusRuntimeException e) {
          throw ServingErrors.invalid(
              "Feature: " + name + " has uint64_t element. Only int64_t is supported.");
        }
        return;
      case VALUE_NUMBER_FLOAT:
        require(feature, name, Feature.KindCase.FLOAT_LIST);
        float value = json.call(json.parser()::getFloatValue);
        if (!Float.isFinite(value)) {
          throw ServingErrors.invalid(
              "Feature: " + name + " has a number that no float holds: " + json.debug());
        }
        feature.getFloatListBuilder().addValue(value);
        return;
      case VALUE_STRING:
        addBytes(feature, name, ByteString.copyFromUtf8(json.text()));
        return;
      case START_OBJECT:
        json.next();
        addBytes(feature, name, TensorBuilder.base64(json));
        return;
      default:
        throw ServingErrors.invalid(
            "Feature: " + name + " has element with unexpected JSON type: " + json.type());
    }
  }

  private static void addBytes(Feature.Builder feature, String name, ByteString value) {
    require(feature, name, Feature.KindCase.BYTES_LIST);
    feature.getBytesListBuilder().addValue(value);
  }

  private static void require(Feature.Builder feature, String name, Feature.KindCase kind) {
    Feature.KindCase present = feature.getKindCase();
    if (present != Feature.KindCase.KIND_NOT_SET && present != kind) {
      String type =
          present == Feature.KindCase.BYTES_LIST
              ? "bytes"
              : present == Feature.KindCase.FLOAT_LIST ? "float" : "int64";
      throw ServingErrors.invalid(
          "Unexpected element type in feature: " + name + " expecting type: " + type);
    }
  }
}
