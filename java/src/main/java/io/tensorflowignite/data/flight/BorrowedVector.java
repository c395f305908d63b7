package io.tensorflowignite.data.flight;

import io.tensorflowignite.data.column.Batch.ColumnData;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.NullVector;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * Shows the buffers of a finished column to Arrow's writers, which need vectors; Arrow's own
 * vectors would require validity buffers. Only the methods that a VectorUnloader calls work.
 */
public final class BorrowedVector extends NullVector {
  private final List<FieldVector> children = new ArrayList<>();
  private List<ArrowBuf> buffers = List.of();
  private int count;
  private int nulls;

  public BorrowedVector(Field field) {
    super(field);
    field.getChildren().forEach(child -> children.add(new BorrowedVector(child)));
  }

  /** Shows a column's buffers, which must stay valid until the next call. */
  public void wrap(ColumnData data) {
    buffers = data.buffers;
    count = data.count;
    nulls = data.nulls;
    for (int i = 0; i < children.size(); i++) {
      ((BorrowedVector) children.get(i)).wrap(data.children.get(i));
    }
  }

  @Override
  public List<ArrowBuf> getFieldBuffers() {
    return buffers;
  }

  @Override
  public List<FieldVector> getChildrenFromFields() {
    return children;
  }

  @Override
  public int getValueCount() {
    return count;
  }

  @Override
  public void setValueCount(int valueCount) {
    // Ignored: the column has its own count.
  }

  @Override
  public int getNullCount() {
    return nulls;
  }
}
