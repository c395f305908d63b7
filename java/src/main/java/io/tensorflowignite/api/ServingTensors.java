package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.common.collect.ImmutableBiMap;
import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.serving.v1.DataType;
import io.tensorflowignite.serving.v1.SignatureDef;
import io.tensorflowignite.serving.v1.TensorInfo;
import io.tensorflowignite.serving.v1.TensorProto;
import io.tensorflowignite.serving.v1.TensorShapeProto;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.Tensor;
import io.tensorflowignite.v1.TensorSpec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.function.BiConsumer;

/** Tensors and signatures of TensorFlow Serving as ours, and back. */
final class ServingTensors {
  private static final String METHODS = "tensorflow/serving/";

  private static final ImmutableBiMap<DataType, String> NAMES =
      ImmutableBiMap.<DataType, String>builder()
          .put(DataType.DT_FLOAT, "float32")
          .put(DataType.DT_DOUBLE, "float64")
          .put(DataType.DT_HALF, "float16")
          .put(DataType.DT_BFLOAT16, "bfloat16")
          .put(DataType.DT_INT8, "int8")
          .put(DataType.DT_UINT8, "uint8")
          .put(DataType.DT_INT16, "int16")
          .put(DataType.DT_UINT16, "uint16")
          .put(DataType.DT_INT32, "int32")
          .put(DataType.DT_UINT32, "uint32")
          .put(DataType.DT_INT64, "int64")
          .put(DataType.DT_UINT64, "uint64")
          .put(DataType.DT_BOOL, "bool")
          .put(DataType.DT_STRING, "string")
          .build();

  private ServingTensors() {}

  /** An input of Serving as ours. */
  static Tensor ours(String name, TensorProto tensor) {
    String dtype = NAMES.get(tensor.getDtype());
    if (dtype == null) {
      throw invalid(name, "has the type " + tensor.getDtype());
    }
    Tensor.Builder ours = Tensor.newBuilder().setName(name).setDtype(dtype);
    long elements = 1;
    for (TensorShapeProto.Dim dim : tensor.getTensorShape().getDimList()) {
      if (dim.getSize() < 0) {
        throw invalid(name, "has an axis of unknown size");
      }
      ours.addShape(dim.getSize());
      elements = saturatedProduct(elements, dim.getSize());
    }
    if (tensor.getDtype() == DataType.DT_STRING) {
      return ours.addAllStrings(tensor.getStringValList()).build();
    }
    return ours.setData(
            tensor.getTensorContent().isEmpty()
                ? listed(name, tensor, elements)
                : tensor.getTensorContent())
        .build();
  }

  /** Our output as one of Serving. */
  static TensorProto serving(Tensor tensor) {
    TensorProto.Builder serving = TensorProto.newBuilder().setDtype(type(tensor.getDtype()));
    TensorShapeProto.Builder shape = serving.getTensorShapeBuilder();
    tensor.getShapeList().forEach(size -> shape.addDimBuilder().setSize(size));
    return serving
        .setTensorContent(tensor.getData())
        .addAllStringVal(tensor.getStringsList())
        .build();
  }

  static SignatureDef serving(ModelSignature signature) {
    SignatureDef.Builder serving =
        SignatureDef.newBuilder().setMethodName(METHODS + signature.getMethod());
    signature.getInputsList().forEach(spec -> serving.putInputs(spec.getName(), info(spec)));
    signature.getOutputsList().forEach(spec -> serving.putOutputs(spec.getName(), info(spec)));
    return serving.build();
  }

  private static TensorInfo info(TensorSpec spec) {
    TensorInfo.Builder info =
        TensorInfo.newBuilder().setName(spec.getName()).setDtype(type(spec.getDtype()));
    TensorShapeProto.Builder shape = info.getTensorShapeBuilder();
    spec.getShapeList().forEach(size -> shape.addDimBuilder().setSize(size));
    shape.setUnknownRank(spec.getAnyRank());
    return info.build();
  }

  private static DataType type(String name) {
    return NAMES.inverse().getOrDefault(name, DataType.DT_INVALID);
  }

  /** The elements in the list of their type; one element stands for all. */
  private static ByteString listed(String name, TensorProto tensor, long elements) {
    switch (tensor.getDtype()) {
      case DT_FLOAT:
        return filled(name, tensor.getFloatValList(), elements, Float.BYTES, ByteBuffer::putFloat);
      case DT_DOUBLE:
        return filled(
            name, tensor.getDoubleValList(), elements, Double.BYTES, ByteBuffer::putDouble);
      case DT_INT8:
      case DT_UINT8:
        return filled(
            name,
            tensor.getIntValList(),
            elements,
            Byte.BYTES,
            (to, value) -> to.put(value.byteValue()));
      case DT_INT16:
      case DT_UINT16:
        return filled(
            name,
            tensor.getIntValList(),
            elements,
            Short.BYTES,
            (to, value) -> to.putShort(value.shortValue()));
      case DT_HALF:
      case DT_BFLOAT16:
        return filled(
            name,
            tensor.getHalfValList(),
            elements,
            Short.BYTES,
            (to, value) -> to.putShort(value.shortValue()));
      case DT_INT32:
        return filled(name, tensor.getIntValList(), elements, Integer.BYTES, ByteBuffer::putInt);
      case DT_UINT32:
        return filled(name, tensor.getUint32ValList(), elements, Integer.BYTES, ByteBuffer::putInt);
      case DT_INT64:
        return filled(name, tensor.getInt64ValList(), elements, Long.BYTES, ByteBuffer::putLong);
      case DT_UINT64:
        return filled(name, tensor.getUint64ValList(), elements, Long.BYTES, ByteBuffer::putLong);
      default:
        return filled(
            name,
            tensor.getBoolValList(),
            elements,
            Byte.BYTES,
            (to, value) -> to.put((byte) (value ? 1 : 0)));
    }
  }

  private static <T> ByteString filled(
      String name, List<T> values, long elements, int size, BiConsumer<ByteBuffer, T> put) {
    // As TensorFlow reads it: the last value is repeated, and no value is a tensor of zeros. A
    // message of some bytes must not become a tensor of gigabytes.
    boolean isRepeated = values.size() == 1 && elements > 1;
    if (values.size() != elements && !(isRepeated && elements <= MAX_REPEATED)) {
      throw invalid(
          name, "has " + values.size() + " elements, and a shape of " + elements + " elements");
    }
    ByteBuffer data =
        ByteBuffer.allocate(Math.toIntExact(elements * size)).order(ByteOrder.LITTLE_ENDIAN);
    for (long element = 0; element < elements; element++) {
      put.accept(data, values.get(isRepeated ? 0 : (int) element));
    }
    return ByteString.copyFrom(data.array());
  }

  private static final long MAX_REPEATED = 1 << 20;

  private static long saturatedProduct(long one, long other) {
    try {
      return Math.multiplyExact(one, other);
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }

  private static TensorFlowIgniteException invalid(String name, String what) {
    return invalidRequest(
        "The input '%.200s' %s. A tensor has a type of numbers, booleans or strings, the size of"
            + " each axis, and the number of elements of its shape. Correct these fields.",
        name, what);
  }
}
