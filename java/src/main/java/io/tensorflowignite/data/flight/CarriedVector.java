package io.tensorflowignite.data.flight;

import io.tensorflowignite.data.column.ColumnData;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.NullVector;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * Lends the buffers of a finished column to Arrow's writers, which take vectors, and would
 * otherwise insist on validity buffers. Only what a VectorUnloader asks is answered.
 */
public final class CarriedVector extends NullVector {
  private final List<FieldVector> children = new ArrayList<>();
  private List<ArrowBuf> buffers = Collections.emptyList();
  private int count;
  private int nulls;

  public CarriedVector(Field field) {
    super(field);
    field.getChildren().forEach(child -> children.add(new CarriedVector(child)));
  }

  /** The column's buffers must live until the next call. */
  public void lend(ColumnData data) {
    buffers = data.buffers();
    count = data.count();
    nulls = data.nulls();
    for (int i = 0; i < children.size(); i++) {
      ((CarriedVector) children.get(i)).lend(data.children().get(i));
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
    // The column's own count holds.
  }

  @Override
  public int getNullCount() {
    return nulls;
  }
}
