package io.tensorflowignite.predict;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.v1.Tensor;
import io.tensorflowignite.v1.TensorSpec;
import java.util.List;
import org.junit.Test;

public class PlainTensorsTest {
  @Test
  public void arraysCollectionsAndFlatRowsAreTheSameTensor() {
    TensorSpec spec = spec("float32", -1, 2);
    Tensor expected = PlainTensors.of(spec, new float[][] {{1, 2}, {3, 4}});
    assertEquals(List.of(2L, 2L), expected.getShapeList());
    assertEquals(expected, PlainTensors.of(spec, List.of(List.of(1, 2L), new double[] {3, 4})));
    assertEquals(expected, PlainTensors.of(spec, new Object[] {1f, 2d, (short) 3, (byte) 4}));
    assertEquals(expected, PlainTensors.of(spec, new float[] {1, 2, 3, 4}));
    assertArrayEquals(
        new float[] {3, 4}, (float[]) ((Object[]) PlainTensors.plain(expected))[1], 0);
  }

  @Test
  public void everyPlainTypeComesBackAsItWas() {
    assertWay("int64", new long[] {Long.MIN_VALUE, 7});
    assertWay("int32", new int[] {-1, 7});
    assertWay("int16", new short[] {-1, 7});
    assertWay("int8", new byte[] {-1, 7});
    assertWay("uint8", new int[] {255, 7});
    assertWay("uint16", new int[] {65_535, 7});
    assertWay("uint32", new long[] {4_294_967_295L});
    assertWay("float64", new double[] {0.1, 7});
    assertWay("bool", new boolean[] {true, false});
    assertArrayEquals(
        new String[] {"ü", ""}, (String[]) way("string", new Object[] {"ü", new byte[0]}));
    assertArrayEquals(new int[] {255, 7}, (int[]) way("uint8", new byte[] {-1, 7}));
    assertEquals(5000, ((double[]) way("float64", new double[5000])).length);
  }

  @Test
  public void eachValueIsOneRowEvenIfItIsFlat() {
    TensorSpec spec = spec("float32", -1, 2, 2);
    assertEquals(
        List.of(2L, 2L, 2L), PlainTensors.ofRows(spec, new float[4], new float[4]).getShapeList());
    assertRefused(
        () -> PlainTensors.ofRows(spec, (Object) new float[8]),
        "has the shape [1, 8], so 1 rows of the shape [8]");
    assertRefused(
        () -> PlainTensors.ofRows(spec, 1, 2, 3, 4),
        "has the numbers of 1 rows, and the request has 4");
  }

  @Test
  public void onlyAFlatColumnIsDividedIntoRows() {
    TensorSpec images = spec("float32", -1, 2, 2);
    assertEquals(List.of(2L, 2L, 2L), PlainTensors.of(images, new float[8]).getShapeList());
    assertEquals(List.of(3L, 2L, 2L), PlainTensors.of(images, new float[3][4]).getShapeList());
    assertEquals(List.of(3L), PlainTensors.of(spec("float32", -1), new float[3][1]).getShapeList());
    refuseRows("[2, 3], so 2 rows", "x: float32[?];", spec("float32", -1), new float[2][3]);
    refuseRows("[3, 8], so 3 rows", "x: float32[?, 2, 2];", images, new float[3][8]);
    refuseRows("[4, 2], so 4 rows", "a row has 4 elements", images, new float[4][2]);
    refuseRows("[2, 2, 4, 1]", "x: float32[?, 2, 2];", images, new float[2][2][4][1]);
    refuseRows("[2, 0], so 2 rows", "a row has 4 elements", images, new float[2][0]);
  }

  @Test
  public void valuesThatWouldChangeAreRefused() {
    refuse("not an integer", "int32", new double[] {1});
    refuse("has the value 128", "int8", new int[] {128});
    refuse("has the value -1", "uint8", new int[] {-1});
    refuse("not a number", "float32", new String[] {"1"});
    refuse("is null", "float32", new Float[] {null});
    refuse("not a boolean", "bool", new int[] {1});
    refuse("not a text", "string", new int[] {1});
    refuse("not an array", "float32", 1f);
    refuse("rows of different shapes", "float32", new float[][] {{1}, {1, 2}});
    refuse("rows of different shapes", "float32", new Object[] {1f, new float[] {1}});
    refuse("rows of different shapes", "float32", new Object[] {new float[] {1}, 1f});
    refuse("no plain value", "bfloat16", new float[] {1});
  }

  private static void refuseRows(String shape, String rule, TensorSpec spec, Object column) {
    assertRefused(() -> PlainTensors.of(spec, column), shape, rule);
  }

  private static void assertWay(String dtype, Object column) {
    // As arrays, which compare by their elements.
    assertArrayEquals(new Object[] {column}, new Object[] {way(dtype, column)});
  }

  private static Object way(String dtype, Object column) {
    return PlainTensors.plain(PlainTensors.of(spec(dtype, -1), column));
  }

  private static void refuse(String reason, String dtype, Object column) {
    assertRefused(() -> PlainTensors.of(spec(dtype, -1), column), reason);
  }

  private static TensorSpec spec(String dtype, long... shape) {
    TensorSpec.Builder spec = TensorSpec.newBuilder().setName("x").setDtype(dtype);
    for (long size : shape) {
      spec.addShape(size);
    }
    return spec.build();
  }
}
