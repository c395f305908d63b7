package io.tensorflowignite.data;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.ListVector;

/** Takes the values of one Arrow vector as the objects that Ignite stores. */
final class VectorValues {
  private final FieldVector vector;
  private final FieldVector leaf;
  private final ElementType element;
  private final int leafLength;
  private final int nulls;

  VectorValues(FieldVector vector, ColumnType type) {
    this.vector = vector;
    this.element = type.leaf();
    FieldVector at = vector;
    int found = at.getNullCount();
    if (at instanceof ListVector) {
      at = ((ListVector) at).getDataVector();
      found += at.getNullCount();
    }
    leafLength = ColumnType.flatLength(at.getField());
    while (at instanceof FixedSizeListVector) {
      at = ((FixedSizeListVector) at).getDataVector();
      found += at.getNullCount();
    }
    leaf = at;
    nulls = found;
  }

  /** The value of a row. */
  Object get(int row) throws MismatchException {
    if (nulls > 0) {
      requireNoNull(row);
    }
    if (vector == leaf) {
      return single(row);
    }
    int first =
        vector instanceof ListVector ? ((ListVector) vector).getElementStartIndex(row) : row;
    int last =
        vector instanceof ListVector ? ((ListVector) vector).getElementEndIndex(row) : row + 1;
    long start = (long) first * leafLength;
    return array(start, Math.toIntExact((long) (last - first) * leafLength));
  }

  private Object single(int row) {
    if (element != null) {
      return element.getValue.get(leaf.getDataBuffer(), (long) row * element.width);
    }
    if (leaf instanceof BitVector) {
      return ((BitVector) leaf).get(row) != 0;
    }
    if (leaf instanceof VarCharVector) {
      return new String(((VarCharVector) leaf).get(row), StandardCharsets.UTF_8);
    }
    return ((VarBinaryVector) leaf).get(row);
  }

  private Object array(long start, int length) {
    if (element != null) {
      ByteBuffer from =
          length == 0
              ? ByteBuffer.allocate(0)
              : leaf.getDataBuffer().nioBuffer(start * element.width, length * element.width);
      return element.getArray.get(from.order(ByteOrder.LITTLE_ENDIAN), length);
    }
    int first = Math.toIntExact(start);
    if (leaf instanceof BitVector) {
      boolean[] values = new boolean[length];
      for (int i = 0; i < length; i++) {
        values[i] = ((BitVector) leaf).get(first + i) != 0;
      }
      return values;
    }
    String[] values = new String[length];
    for (int i = 0; i < length; i++) {
      values[i] = (String) single(first + i);
    }
    return values;
  }

  /** Only of batches that hold nulls. */
  private void requireNoNull(int row) throws MismatchException {
    if (vector.isNull(row)) {
      throw new MismatchException("is null");
    }
    if (vector != leaf) {
      throw new MismatchException("is in a batch whose lists hold nulls");
    }
  }
}
