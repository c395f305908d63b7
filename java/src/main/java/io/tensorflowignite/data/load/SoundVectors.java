package io.tensorflowignite.data.load;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
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
 * Whether the positions in a batch that somebody sent lie within it: arrays are made as long as
 * these say, before anything is read.
 */
public final class SoundVectors {
  private SoundVectors() {}

  /** Throws INVALID_REQUEST when they do not. */
  public static void require(VectorSchemaRoot batch) {
    for (FieldVector vector : batch.getFieldVectors()) {
      require(vector, batch.getRowCount());
    }
  }

  private static void require(FieldVector vector, long count) {
    if (vector.getValueCount() < count) {
      throw unsound(
          vector, "has " + vector.getValueCount() + " values where " + count + " are named");
    }
    int own = vector.getValueCount();
    if (vector instanceof ListVector) {
      ListVector lists = (ListVector) vector;
      requirePositions(
          vector, lists.getOffsetBuffer(), Integer.BYTES, lists.getDataVector().getValueCount());
      require(lists.getDataVector(), 0);
    } else if (vector instanceof LargeListVector) {
      LargeListVector lists = (LargeListVector) vector;
      requirePositions(
          vector, lists.getOffsetBuffer(), Long.BYTES, lists.getDataVector().getValueCount());
      require(lists.getDataVector(), 0);
    } else if (vector instanceof FixedSizeListVector) {
      FixedSizeListVector lists = (FixedSizeListVector) vector;
      require(lists.getDataVector(), (long) own * lists.getListSize());
    } else if (vector instanceof StructVector) {
      vector.getChildrenFromFields().forEach(child -> require(child, own));
    } else if (vector instanceof BaseVariableWidthVector) {
      requirePositions(
          vector, vector.getOffsetBuffer(), Integer.BYTES, vector.getDataBuffer().capacity());
    } else if (vector instanceof BaseLargeVariableWidthVector) {
      requirePositions(
          vector, vector.getOffsetBuffer(), Long.BYTES, vector.getDataBuffer().capacity());
    } else if (!(vector instanceof BaseFixedWidthVector) || vector.getValueCapacity() < own) {
      throw unsound(vector, "has no room for " + own + " values of its kind");
    }
  }

  private static void requirePositions(
      FieldVector vector, ArrowBuf positions, int width, long end) {
    int count = vector.getValueCount();
    if (count == 0) {
      return;
    }
    if (positions.capacity() < (count + 1L) * width) {
      throw unsound(vector, "has positions for fewer than its " + count + " values");
    }
    long before = 0;
    for (long i = 0; i <= count; i++) {
      long position =
          width == Integer.BYTES ? positions.getInt(i * width) : positions.getLong(i * width);
      if (position < before || position > end) {
        throw unsound(
            vector,
            String.format(
                "has position %d after %d, of %d in all, at value %d", position, before, end, i));
      }
      before = position;
    }
  }

  private static TensorFlowIgniteException unsound(FieldVector vector, String why) {
    return new TensorFlowIgniteException(
        ErrorCode.INVALID_REQUEST,
        String.format(
            "a batch contradicts itself: column %s %s; positions grow, and lie within the batch;"
                + " send what Arrow's own writers write",
            vector.getName(), why));
  }
}
