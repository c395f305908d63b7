package io.tensorflowignite.data.load;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseLargeVariableWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.LargeListVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;

/**
 * Validates that the offsets in a received batch lie inside the batch, since they determine the
 * lengths of arrays that are allocated.
 */
public final class VectorValidation {
  private VectorValidation() {}

  /** Throws INVALID_REQUEST for an invalid batch. */
  public static void require(VectorSchemaRoot batch) {
    for (FieldVector vector : batch.getFieldVectors()) {
      require(vector, batch.getRowCount());
    }
  }

  private static void require(FieldVector vector, long count) {
    if (vector.getValueCount() < count) {
      throw invalid(vector, "has " + vector.getValueCount() + " values instead of " + count);
    }
    int values = vector.getValueCount();
    if (vector instanceof ListVector) {
      ListVector lists = (ListVector) vector;
      requireOffsets(
          vector, lists.getOffsetBuffer(), Integer.BYTES, lists.getDataVector().getValueCount());
      require(lists.getDataVector(), 0);
    } else if (vector instanceof LargeListVector) {
      LargeListVector lists = (LargeListVector) vector;
      requireOffsets(
          vector, lists.getOffsetBuffer(), Long.BYTES, lists.getDataVector().getValueCount());
      require(lists.getDataVector(), 0);
    } else if (vector instanceof FixedSizeListVector) {
      FixedSizeListVector lists = (FixedSizeListVector) vector;
      require(lists.getDataVector(), (long) values * lists.getListSize());
    } else if (vector instanceof StructVector) {
      vector.getChildrenFromFields().forEach(child -> require(child, values));
    } else if (vector instanceof BaseVariableWidthVector) {
      requireOffsets(
          vector, vector.getOffsetBuffer(), Integer.BYTES, vector.getDataBuffer().capacity());
    } else if (vector instanceof BaseLargeVariableWidthVector) {
      requireOffsets(
          vector, vector.getOffsetBuffer(), Long.BYTES, vector.getDataBuffer().capacity());
    } else if (!(vector instanceof BaseFixedWidthVector) || vector.getValueCapacity() < values) {
      throw invalid(vector, "has a buffer that is too small for " + values + " values");
    }
  }

  private static void requireOffsets(FieldVector vector, ArrowBuf offsets, int width, long end) {
    int count = vector.getValueCount();
    if (count == 0) {
      return;
    }
    if (offsets.capacity() < (count + 1L) * width) {
      throw invalid(vector, "has offsets for fewer than its " + count + " values");
    }
    long previous = 0;
    for (long i = 0; i <= count; i++) {
      long offset = width == Integer.BYTES ? offsets.getInt(i * width) : offsets.getLong(i * width);
      if (offset < previous || offset > end) {
        throw invalid(
            vector,
            String.format(
                "has offset %d after %d at value %d, with an end at %d", offset, previous, i, end));
      }
      previous = offset;
    }
  }

  private static TensorFlowIgniteException invalid(FieldVector vector, String problem) {
    return invalidRequest(
        "a batch is invalid: column %s %s; offsets must not decrease, and must lie inside the"
            + " batch; send the output of Arrow's own writers",
        vector.getName(), problem);
  }
}
