package io.tensorflowignite.predict.decide;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;

import com.google.protobuf.ByteString;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.PredictResponse;
import io.tensorflowignite.v1.Tensor;
import io.tensorflowignite.v1.TensorSpec;
import java.util.List;
import org.junit.Test;

/**
 * Promise (prediction): A request that does not fit the signature is refused before it is in a
 * batch.
 */
public class TensorsTest {
  private static final ModelSignature SIGNATURE =
      ModelSignature.newBuilder()
          .setName("serving_default")
          .addInputs(spec("x", "int8", -1, 2))
          .addInputs(spec("s", "string", -1))
          .build();

  @Test
  public void inputsThatDoNotFitAreRefusedWithWhatTheSignatureTakes() {
    assertEquals(
        2, Tensors.verify(request(bytes("x", 1, 2, 3, 4), strings("s", "a", "b")), SIGNATURE));
    refuse("The inputs are x: int8", request(bytes("x", 1, 2)));
    refuse("different numbers of rows", request(bytes("x", 1, 2), strings("s", "a", "b")));
    refuse(
        "does not fit x: int8[?, 2]",
        request(bytes("x", 1, 2).setDtype("float32"), strings("s", "a")));
    refuse("does not fit", request(strings("x", "a", "b"), strings("s", "a")));
    refuse("does not fit", request(bytes("x", 1, 2), bytes("s", 1)));
    refuse("does not fit", request(bytes("x", 1, 2).addShape(1), strings("s", "a")));
    refuse("number of elements", request(bytes("x", 1, 2).setShape(0, 2), strings("s", "a", "b")));
    refuse(
        "number of elements",
        request(
            bytes("x", 1, 2).setShape(0, Long.MAX_VALUE),
            strings("s", "a").setShape(0, Long.MAX_VALUE)));
    refuse("The inputs are", request(bytes("x", 1, 2), bytes("x", 1, 2)));
  }

  @Test
  public void numbersOfAnotherTypeGoToTheModelIfTheyBecomeNumbersOfItsKind() {
    PredictRequest other = request(bytes("x", 1, 2).setDtype("uint8"), strings("s", "a"));
    assertEquals(1, Tensors.verify(other, SIGNATURE));
    PredictRequest same = request(bytes("x", 1, 2), strings("s", "a"));
    assertNotEquals(Tensors.group(same), Tensors.group(other));
    ModelSignature pixels =
        ModelSignature.newBuilder().addInputs(spec("x", "uint8", -1, 2)).build();
    PredictRequest integers =
        request(
            Tensor.newBuilder()
                .setName("x")
                .setDtype("int64")
                .addAllShape(List.of(1L, 2L))
                .setData(ByteString.copyFrom(new byte[2 * Long.BYTES])));
    assertEquals(1, Tensors.verify(integers, pixels));
    assertRefused(
        () -> Tensors.verify(request(bytes("x", 1, 2).setDtype("float32")), pixels),
        "does not fit");
  }

  @Test
  public void aBatchOfRequestsIsCutIntoTheSameRows() {
    PredictRequest first = request(bytes("x", 1, 2), strings("s", "a"));
    PredictRequest second = request(strings("s", "b", "c"), bytes("x", 3, 4, 5, 6));
    PredictRequest batch = Tensors.concatenate(List.of(first, second));
    assertEquals(3, Tensors.verify(batch, SIGNATURE));
    PredictResponse response =
        PredictResponse.newBuilder().setNumber(7).addAllOutputs(batch.getInputsList()).build();
    List<PredictResponse> parts = Tensors.split(response, new int[] {1, 2});
    assertEquals(first.getInputsList(), parts.get(0).getOutputsList());
    assertEquals(second.getInputs(1), parts.get(1).getOutputs(0));
    assertEquals(7, parts.get(1).getNumber());
    assertEquals(response, Tensors.join(parts));
    assertEquals(
        List.of(parts.get(1), parts.get(0)),
        Tensors.split(Tensors.reorder(response, new int[] {1, 2, 0}), new int[] {2, 1}));
  }

  @Test
  public void onlyRequestsOfOneShapeAndSignatureAreOneBatch() {
    PredictRequest one = request(bytes("x", 1, 2));
    assertEquals(Tensors.group(one), Tensors.group(request(bytes("x", 3, 4, 5, 6))));
    assertNotEquals(Tensors.group(one), Tensors.group(one.toBuilder().setSignature("o").build()));
    PredictRequest other = request(bytes("x", 1, 2).setShape(1, 1).setShape(0, 2));
    assertNotEquals(Tensors.group(one), Tensors.group(other));
  }

  @Test
  public void outputsWithoutTheRowsOfTheBatchAreAFaultOfTheModel() {
    PredictResponse response = response(bytes("y", 1, 2));
    assertRefused(() -> Tensors.split(response, new int[] {1, 1}));
  }

  @Test
  public void rowsOfDifferentShapesOrTypesAreNotPutTogether() {
    Tensor.Builder narrow = bytes("y", 1, 2, 3, 4);
    PredictResponse first = response(narrow);
    assertEquals(
        3, Tensors.join(List.of(first, response(bytes("y", 5, 6)))).getOutputs(0).getShape(0));
    for (Tensor.Builder other :
        List.of(
            bytes("y", 1, 2, 3, 4, 5, 6).setShape(0, 2).setShape(1, 3),
            bytes("y", 1, 2).setShape(0, 2).setShape(1, 1),
            bytes("y", 1, 2).addShape(1),
            bytes("y", 1, 2).setDtype("uint8"),
            bytes("z", 1, 2))) {
      requireNotJoined(first, response(other));
      requireNotJoined(response(other), first);
    }
    requireNotJoined(first, response(narrow, bytes("z", 1, 2, 3, 4)));
    requireNotJoined(response(narrow, bytes("z", 1, 2, 3, 4)), first);
  }

  private static void requireNotJoined(PredictResponse one, PredictResponse other) {
    assertRefused(
        ErrorCode.ERROR_CODE_MODEL_UNUSABLE,
        () -> Tensors.join(List.of(one, one, other)),
        "y: int8[2, 2]",
        "one key at a time");
  }

  private static void refuse(String reason, PredictRequest request) {
    assertRefused(
        () -> Tensors.verify(request, SIGNATURE), reason, "takes x: int8[?, 2], s: string[?]");
  }

  private static TensorSpec spec(String name, String dtype, long... shape) {
    TensorSpec.Builder spec = TensorSpec.newBuilder().setName(name).setDtype(dtype);
    for (long size : shape) {
      spec.addShape(size);
    }
    return spec.build();
  }

  private static PredictRequest request(Tensor.Builder... tensors) {
    PredictRequest.Builder request = PredictRequest.newBuilder();
    for (Tensor.Builder tensor : tensors) {
      request.addInputs(tensor);
    }
    return request.build();
  }

  private static PredictResponse response(Tensor.Builder... tensors) {
    PredictResponse.Builder response = PredictResponse.newBuilder();
    for (Tensor.Builder tensor : tensors) {
      response.addOutputs(tensor);
    }
    return response.build();
  }

  /** Rows of two numbers. */
  private static Tensor.Builder bytes(String name, int... values) {
    byte[] data = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      data[i] = (byte) values[i];
    }
    return Tensor.newBuilder()
        .setName(name)
        .setDtype("int8")
        .addShape(values.length / 2)
        .addShape(2)
        .setData(ByteString.copyFrom(data));
  }

  private static Tensor.Builder strings(String name, String... values) {
    Tensor.Builder tensor =
        Tensor.newBuilder().setName(name).setDtype("string").addShape(values.length);
    for (String value : values) {
      tensor.addStrings(ByteString.copyFromUtf8(value));
    }
    return tensor;
  }
}
