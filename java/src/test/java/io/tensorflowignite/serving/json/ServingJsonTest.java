package io.tensorflowignite.serving.json;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.serving.v1.Class;
import io.tensorflowignite.serving.v1.ClassificationResult;
import io.tensorflowignite.serving.v1.Classifications;
import io.tensorflowignite.serving.v1.DataType;
import io.tensorflowignite.serving.v1.Feature;
import io.tensorflowignite.serving.v1.Input;
import io.tensorflowignite.serving.v1.Regression;
import io.tensorflowignite.serving.v1.RegressionResult;
import io.tensorflowignite.serving.v1.TensorInfo;
import io.tensorflowignite.serving.v1.TensorProto;
import io.tensorflowignite.serving.v1.TensorShapeProto;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.Test;

public class ServingJsonTest {
  private static final Map<String, TensorInfo> FLOATS = signature("x", DataType.DT_FLOAT);
  private static final Map<String, TensorInfo> WORDS = signature("s", DataType.DT_STRING);
  private static final Map<String, TensorInfo> BOTH = new TreeMap<>();

  static {
    BOTH.putAll(FLOATS);
    BOTH.putAll(WORDS);
  }

  @Test
  public void rowsBecomeABatch() {
    PredictJson found = parse("{'instances': [[1, 2.5], [-3e0, 4]]}", FLOATS);
    assertTrue(found.isByRow);
    assertEquals(List.of(2L, 2L), shape(found.inputs.get("x")));
    assertEquals(List.of(1f, 2.5f, -3f, 4f), floats(found.inputs.get("x")));
    assertEquals(List.of(3L), shape("{'instances': [1, 2, 3]}", FLOATS));
  }

  @Test
  public void columnsBecomeABatch() {
    PredictJson found = parse("{'inputs': {'x': [[1], [2]], 's': ['a', 'b']}}", BOTH);
    assertFalse(found.isByRow);
    assertEquals(List.of(2L, 1L), shape(found.inputs.get("x")));
    assertEquals(List.of("a", "b"), strings(found.inputs.get("s")));
    assertEquals(List.of(2L), shape("{'inputs': [1, 2]}", FLOATS));
    assertEquals(List.of(2L), shape("{'inputs': {'x': [1, 2]}}", FLOATS));
  }

  @Test
  public void rowsOfSeveralInputsAreObjects() {
    PredictJson found =
        parse(
            "{'instances': [{'x': [1, 2], 's': 'a'}, {'s': {'b64': '/w=='}, 'x': [3, 4]}]}", BOTH);
    assertEquals(List.of(2L, 2L), shape(found.inputs.get("x")));
    assertEquals(2, found.inputs.get("s").getStringValCount());
    assertEquals((byte) 0xFF, found.inputs.get("s").getStringVal(1).byteAt(0));
  }

  @Test
  public void bytesOfOneInputNeedNoName() {
    PredictJson found = parse("{'instances': [{'b64': 'YQ=='}, 'b']}", WORDS);
    assertEquals(List.of("a", "b"), strings(found.inputs.get("s")));
    assertEquals(List.of("a", "b"), strings("{'instances': [{'s': 'a'}, {'s': 'b'}]}", WORDS));
    assertEquals(List.of("a"), strings("{'inputs': {'b64': 'YQ=='}}", WORDS));
  }

  @Test
  public void theSignatureMayStandAnywhere() {
    assertEquals("other", name("{'instances': [{'x': 1}], 'signature_name': 'other'}"));
    assertEquals("", name("{'inputs': {'signature_name': 'no'}}"));
    assertError("'signature_name' key must be a string", () -> name("{'signature_name': 7}"));
  }

  @Test
  public void eachTypeIsRead() {
    assertEquals(
        ByteString.copyFrom(new byte[] {-1, 127}), content("[255, 127]", DataType.DT_UINT8));
    assertEquals(
        ByteString.copyFrom(new byte[] {1, 0}), content("[true, false]", DataType.DT_BOOL));
    assertEquals(ByteString.copyFrom(new byte[] {-2, -1}), content("[-2]", DataType.DT_INT16));
    assertEquals(
        ByteString.copyFrom(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1}),
        content("[18446744073709551615]", DataType.DT_UINT64));
    assertEquals(
        ByteString.copyFrom(new byte[] {-1, -1, -1, -1}),
        content("[4294967295]", DataType.DT_UINT32));
  }

  @Test
  public void badBodiesAreRefusedWithTheTextsOfServing() {
    assertRejected("", FLOATS, "JSON Parse error: The document is empty");
    assertRejected("{'instances': [1,, 2]}", FLOATS, "JSON Parse error: ", " at offset: ");
    assertRejected("{'instances': [1", FLOATS, "JSON Parse error: ", " at offset: ");
    assertRejected("[1]", FLOATS, "JSON Value: [...] Is not object");
    assertRejected("{}", FLOATS, "Missing 'inputs' or 'instances' key");
    assertRejected("{'inputs': 1, 'instances': [1]}", FLOATS, "expecting only one of 'inputs'");
    assertRejected("{'instances': 7}", FLOATS, "Expecting 'instances' to be an list/array");
    assertRejected("{'instances': []}", FLOATS, "No values in 'instances' array");
    assertRejected("{'instances': [1]}", BOTH, "instances is a plain list, but expecting list");
    assertRejected("{'inputs': [1]}", BOTH, "inputs is a plain value/list, but expecting");
    assertRejected("{'inputs': {'x': 1}}", BOTH, "Missing named input: s in 'inputs' object.");
    assertRejected(
        "{'instances': [{'x': 1}]}",
        BOTH,
        "Failed to process element: 0 of 'instances' list. JSON object: {...} keys must be equal"
            + " to: s,x");
    assertRejected(
        "{'instances': [{'y': 1}]}",
        FLOATS,
        "Failed to process element: 0 key: y of 'instances' list. Error: INVALID_ARGUMENT: JSON"
            + " object: does not have named input: y");
    assertRejected(
        "{'instances': [{'x': 1}, 2]}", FLOATS, "Expecting object but got list at item 1");
    assertRejected(
        "{'instances': [1, {'x': 1}]}", FLOATS, "Expecting value/list but got object at item 1");
  }

  @Test
  public void nothingFollowsTheDocument() {
    String follows =
        "JSON Parse error: The document root must not be followed by other values. at offset: ";
    String instances = "{'instances': [1]}";
    parse(instances + " \r\n\t", FLOATS);
    for (String garbage : List.of("garbage", "{}", "]", "}", ",", "1", "\"")) {
      assertRejected(instances + " " + garbage, FLOATS, follows + "19");
      assertError(follows + "3", () -> name("{} " + garbage));
      assertError(follows + "24", () -> examples("{'examples': [{'f': 1}]}" + garbage));
    }
    assertRejected("{'inputs': {'x': [1]}} 7", FLOATS, follows + "23");
  }

  @Test
  public void wrongShapesAreNamed() {
    assertRejected(
        "{'instances': [[1, 2], [1]]}",
        FLOATS,
        "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting"
            + " tensor size: 2 but got: 1");
    assertRejected(
        "{'instances': [[[1, 2]], [[1], [2]]]}", FLOATS, "Expecting shape [1,2] but got: [2,1]");
    assertRejected(
        "{'inputs': [[1, 2], [1]]}",
        FLOATS,
        "Encountered list at unexpected size: 1 at level: 1 expected size: 2");
    assertRejected(
        "{'inputs': [1, [2]]}", FLOATS, "Encountered list at unexpected level: 1 expected < 1");
    assertRejected(
        "{'inputs': [[1], 2]}",
        FLOATS,
        "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2");
    assertRejected("{'inputs': " + "[".repeat(70) + "]".repeat(70) + "}", FLOATS, "nesting depth");
  }

  @Test
  public void wrongTypesAndNumbersThatAreNotFiniteAreNamed() {
    assertRejected(
        "{'inputs': ['a']}",
        FLOATS,
        "JSON Value: \"a\" Type: String is not of expected type: float");
    assertRejected("{'inputs': [null]}", FLOATS, "Type: Null is not of expected type: float");
    assertRejected("{'inputs': [1e999]}", FLOATS, "JSON Value: 1e999 Type: Number is not");
    assertRejected("{'inputs': [NaN]}", FLOATS, "JSON Parse error: ");
    assertRejected("{'inputs': [1.5]}", signature("n", DataType.DT_INT32), "expected type: int32");
    assertRejected("{'inputs': [300]}", signature("n", DataType.DT_UINT8), "expected type: uint8");
    assertRejected(
        "{'inputs': [9223372036854775808]}",
        signature("n", DataType.DT_INT64),
        "JSON Value: 9223372036854775808 Type: Number is not of expected type: int64");
    assertRejected("{'inputs': [7]}", WORDS, "Type: Number is not of expected type: string");
    assertRejected("{'inputs': [{'b64': 7}]}", WORDS, "not formatted correctly for base64");
    assertRejected("{'inputs': [{'b64': '?'}]}", WORDS, "Unable to base64 decode");
    StatusRuntimeException error =
        assertThrows(
            StatusRuntimeException.class,
            () -> parse("{'inputs': [7]}", signature("h", DataType.DT_HALF)));
    assertEquals(Status.Code.UNIMPLEMENTED, error.getStatus().getCode());
  }

  @Test
  public void answersHaveTheFormOfTheirRequests() {
    TensorProto shares = tensor(DataType.DT_FLOAT, List.of(2L, 2L), 1f, 0.25f, Float.NaN, -3f);
    TensorProto words =
        TensorProto.newBuilder()
            .setDtype(DataType.DT_STRING)
            .setTensorShape(dims(List.of(2L)))
            .addStringVal(ByteString.copyFromUtf8("a\""))
            .addStringVal(ByteString.copyFromUtf8("ä"))
            .build();
    assertEquals(
        "{\"predictions\":[[1.0,0.25],[NaN,-3.0]]}", AnswerJson.outputs(Map.of("y", shares), true));
    assertEquals(
        "{\"outputs\":[[1.0,0.25],[NaN,-3.0]]}", AnswerJson.outputs(Map.of("y", shares), false));
    assertEquals(
        "{\"predictions\":[{\"s_bytes\":{\"b64\":\"YSI=\"},\"y\":[1.0,0.25]},{\"s_bytes\":{\"b64\":\"w6Q=\"},\"y\":[NaN,-3.0]}]}",
        AnswerJson.outputs(Map.of("y", shares, "s_bytes", words), true));
    assertEquals(
        "{\"outputs\":{\"s\":[\"a\\\"\",\"ä\"],\"y\":[[1.0,0.25],[NaN,-3.0]]}}",
        AnswerJson.outputs(Map.of("y", shares, "s", words), false));
    TensorProto single = tensor(DataType.DT_FLOAT, List.of(), 7f);
    assertError("has no shape information", () -> AnswerJson.outputs(Map.of("y", single), true));
    assertEquals("{\"outputs\":7.0}", AnswerJson.outputs(Map.of("y", single), false));
    assertError(
        "has inconsistent batch size",
        () ->
            AnswerJson.outputs(
                Map.of("y", shares, "z", tensor(DataType.DT_FLOAT, List.of(1L), 7f)), true));
    assertEquals("{\"error\":\"a\\n\\\"b\\\"\"}", AnswerJson.error("a\n\"b\""));
  }

  @Test
  public void numbersOf16BitsAreWrittenAsTheyAre() {
    assertEquals(
        "{\"outputs\":[1.0,-2.0,65504.0,0.33325195,5.9604645E-8,-0.0,-Infinity,NaN]}",
        outputOfShorts(
            DataType.DT_HALF, 0x3C00, 0xC000, 0x7BFF, 0x3555, 1, 0x8000, 0xFC00, 0x7E00));
    assertEquals(
        "{\"outputs\":[1.0,-3.0,NaN]}",
        outputOfShorts(DataType.DT_BFLOAT16, 0x3F80, 0xC040, 0x7FC0));
  }

  private static String outputOfShorts(DataType type, int... values) {
    ByteBuffer data =
        ByteBuffer.allocate(values.length * Short.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int value : values) {
      data.putShort((short) value);
    }
    TensorProto tensor =
        TensorProto.newBuilder()
            .setDtype(type)
            .setTensorShape(dims(List.of((long) values.length)))
            .setTensorContent(ByteString.copyFrom(data.array()))
            .build();
    return AnswerJson.outputs(Map.of("y", tensor), false);
  }

  @Test
  public void classesAndRegressionsAreLists() {
    assertEquals(
        "{\"results\":[[[\"a\",0.5],[\"b\",0.25]],[]]}",
        AnswerJson.classifications(
            ClassificationResult.newBuilder()
                .addClassifications(
                    Classifications.newBuilder()
                        .addClasses(Class.newBuilder().setLabel("a").setScore(0.5f))
                        .addClasses(Class.newBuilder().setLabel("b").setScore(0.25f)))
                .addClassifications(Classifications.newBuilder())
                .build()));
    assertEquals(
        "{\"results\":[1.5,2.0]}",
        AnswerJson.regressions(
            RegressionResult.newBuilder()
                .addRegressions(Regression.newBuilder().setValue(1.5f))
                .addRegressions(Regression.newBuilder().setValue(2))
                .build()));
  }

  @Test
  public void examplesHaveFeatures() {
    Input input = examples("{'context': {'c': 1}, 'examples': [{'f': [1.5, 2.0], 'b': 'x'}]}");
    assertEquals(
        1, feature(input.getExampleListWithContext().getContext(), "c").getInt64List().getValue(0));
    Feature floats = feature(input.getExampleListWithContext().getExamples(0), "f");
    assertEquals(List.of(1.5f, 2f), floats.getFloatList().getValueList());
    assertError("key 'examples' is expected", () -> examples("{}"));
    assertError("'examples' value is an empty array", () -> examples("{'examples': []}"));
    assertError("must be JSON object but got JSON Number", () -> examples("{'examples': [1]}"));
    assertError(
        "Unexpected element type in feature: f expecting type: int64",
        () -> examples("{'examples': [{'f': [1, 2.5]}]}"));
    assertError(
        "Feature: f has element with unexpected JSON type: Null",
        () -> examples("{'examples': [{'f': null}]}"));
  }

  @Test
  public void pathsNameAModelAVersionAndAMethod() {
    ServingPath path = ServingPath.parse("POST", "/v1/models/a%20b/versions/3:predict").get();
    assertEquals(ServingPath.Method.PREDICT, path.method);
    assertEquals("a b", path.model.getName());
    assertEquals(3, path.model.getVersion().getValue());
    path = ServingPath.parse("GET", "/v1/models/m/labels/canary/metadata").get();
    assertEquals(ServingPath.Method.METADATA, path.method);
    assertEquals("canary", path.model.getVersionLabel());
    assertEquals(ServingPath.Method.STATUS, ServingPath.parse("GET", "/v1/models/m").get().method);
    for (String bad :
        List.of("/v1/models/m:guess", "/v1/models/m/versions/x:predict", "/v1", "/")) {
      assertFalse(bad, ServingPath.parse("POST", bad).isPresent());
    }
    assertFalse(ServingPath.parse("PUT", "/v1/models/m:predict").isPresent());
    assertError(
        "Failed to convert version",
        () -> ServingPath.parse("GET", "/v1/models/m/versions/99999999999999999999"));
  }

  private static Feature feature(io.tensorflowignite.serving.v1.Example example, String name) {
    return example.getFeatures().getFeatureOrThrow(name);
  }

  private static Input examples(String json) {
    return ExamplesJson.parse(bytes(json));
  }

  private static String name(String json) {
    return PredictJson.signature(bytes(json));
  }

  private static PredictJson parse(String json, Map<String, TensorInfo> signature) {
    return PredictJson.parse(bytes(json), signature);
  }

  private static ByteString content(String values, DataType type) {
    return parse("{'inputs': " + values + "}", signature("n", type))
        .inputs
        .get("n")
        .getTensorContent();
  }

  /** Of JSON with apostrophes instead of quotation marks. */
  private static byte[] bytes(String json) {
    return json.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
  }

  private static Map<String, TensorInfo> signature(String name, DataType type) {
    return Map.of(name, TensorInfo.newBuilder().setDtype(type).build());
  }

  private static void assertRejected(
      String json, Map<String, TensorInfo> signature, String... texts) {
    for (String text : texts) {
      assertError(text, () -> parse(json, signature));
    }
  }

  private static void assertError(String text, org.junit.function.ThrowingRunnable call) {
    Status status = assertThrows(StatusRuntimeException.class, call).getStatus();
    assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode());
    assertTrue(status.getDescription(), status.getDescription().contains(text));
  }

  private static TensorProto tensor(DataType type, List<Long> shape, float... values) {
    ByteBuffer data =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      data.putFloat(value);
    }
    return TensorProto.newBuilder()
        .setDtype(type)
        .setTensorShape(dims(shape))
        .setTensorContent(ByteString.copyFrom(data.array()))
        .build();
  }

  private static TensorShapeProto dims(List<Long> shape) {
    TensorShapeProto.Builder dims = TensorShapeProto.newBuilder();
    shape.forEach(size -> dims.addDimBuilder().setSize(size));
    return dims.build();
  }

  private static List<Long> shape(TensorProto tensor) {
    List<Long> shape = new ArrayList<>();
    tensor.getTensorShape().getDimList().forEach(dim -> shape.add(dim.getSize()));
    return shape;
  }

  private static List<Long> shape(String json, Map<String, TensorInfo> signature) {
    return shape(parse(json, signature).inputs.get("x"));
  }

  private static List<String> strings(String json, Map<String, TensorInfo> signature) {
    return strings(parse(json, signature).inputs.get("s"));
  }

  private static List<Float> floats(TensorProto tensor) {
    ByteBuffer data =
        tensor.getTensorContent().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    List<Float> found = new ArrayList<>();
    while (data.hasRemaining()) {
      found.add(data.getFloat());
    }
    return found;
  }

  private static List<String> strings(TensorProto tensor) {
    List<String> found = new ArrayList<>();
    tensor.getStringValList().forEach(value -> found.add(value.toStringUtf8()));
    return found;
  }
}
