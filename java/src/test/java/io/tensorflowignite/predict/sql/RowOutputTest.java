package io.tensorflowignite.predict.sql;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import com.google.protobuf.ByteString;
import io.tensorflowignite.v1.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.Test;

public class RowOutputTest {
  @Test
  public void oneNumberIsItselfAndOfSeveralFloatsItIsTheIndexOfTheGreatest() {
    assertEquals(0.25, RowOutput.number(floats(List.of(1L), 0.25f)), 0);
    assertEquals(0.25, RowOutput.number(floats(List.of(1L, 1L), 0.25f)), 0);
    assertEquals(2, RowOutput.number(floats(List.of(1L, 4L), -3, -2, -1, -1)), 0);
    assertEquals(0, RowOutput.number(floats(List.of(1L, 2L), -1, Float.NEGATIVE_INFINITY)), 0);
    assertEquals(Double.NaN, RowOutput.number(floats(List.of(1L, 2L), 1, Float.NaN)), 0);
    Tensor flag = tensor("bool", 1L).setData(ByteString.copyFrom(new byte[] {1})).build();
    assertEquals(1, RowOutput.number(flag), 0);
  }

  @Test
  public void allValuesOfARowAreAnArray() {
    assertArrayEquals(new Object[] {1f, 2f}, RowOutput.array(floats(List.of(1L, 1L, 2L), 1, 2)));
    assertArrayEquals(new Object[] {"a", "b"}, RowOutput.array(texts("a", "b")));
    assertEquals("a", RowOutput.text(texts("a")));
  }

  @Test
  public void anOutputThatDoesNotFitIsRefusedWithTheFunctionThatTakesIt() {
    Tensor picture = floats(List.of(1L, 2L, 2L), 1, 2, 3, 4);
    assertRefused(() -> RowOutput.number(picture), "is float32[2, 2] for a row");
    assertRefused(() -> RowOutput.number(floats(List.of(1L, 0L))), "Call TF_PREDICT_ARRAY");
    Tensor ids = tensor("int8", 1L, 2L).setData(ByteString.copyFrom(new byte[] {7, 9})).build();
    assertRefused(() -> RowOutput.number(ids), "Call TF_PREDICT_ARRAY");
    assertRefused(() -> RowOutput.number(texts("a")), "Call TF_PREDICT_TEXT");
    assertRefused(() -> RowOutput.text(texts("a", "b")), "Call TF_PREDICT_ARRAY");
    assertRefused(() -> RowOutput.text(floats(List.of(1L), 1)), "Call TF_PREDICT or");
  }

  private static Tensor floats(List<Long> shape, float... values) {
    ByteBuffer data =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      data.putFloat(value);
    }
    return tensor("float32", shape.toArray(new Long[0]))
        .setData(ByteString.copyFrom(data.array()))
        .build();
  }

  private static Tensor texts(String... values) {
    Tensor.Builder tensor =
        values.length == 1 ? tensor("string", 1L) : tensor("string", 1L, (long) values.length);
    for (String value : values) {
      tensor.addStrings(ByteString.copyFromUtf8(value));
    }
    return tensor.build();
  }

  private static Tensor.Builder tensor(String dtype, Long... shape) {
    return Tensor.newBuilder().setName("y").setDtype(dtype).addAllShape(List.of(shape));
  }
}
