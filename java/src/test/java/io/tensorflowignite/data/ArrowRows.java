package io.tensorflowignite.data;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.flight.BorrowedVector;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.Text;

/** Batches as a receiver gets them, in Arrow's own vectors, and fields for tests. */
final class ArrowRows {
  private ArrowRows() {}

  /** A field of fixed lists. */
  static Field fixed(String name, int size, Field child) {
    FieldType type = FieldType.notNullable(new ArrowType.FixedSizeList(size));
    return new Field(name, type, List.of(child));
  }

  /** Closes the batch, and returns its rows as vectors; the caller closes them. */
  static VectorSchemaRoot receive(Schema schema, Batch batch, BufferAllocator allocator) {
    List<FieldVector> vectors = new ArrayList<>();
    for (int i = 0; i < schema.getFields().size(); i++) {
      BorrowedVector vector = new BorrowedVector(schema.getFields().get(i));
      vector.wrap(batch.columns.get(i));
      vectors.add(vector);
    }
    VectorSchemaRoot received = VectorSchemaRoot.create(schema, allocator);
    try (VectorSchemaRoot sent = new VectorSchemaRoot(schema, vectors, batch.rows);
        ArrowRecordBatch message = new VectorUnloader(sent).getRecordBatch()) {
      new VectorLoader(received).load(message);
    }
    batch.close();
    return received;
  }

  /** The cells of one column, arrays as lists. */
  static List<Object> cells(VectorSchemaRoot root, int column) {
    List<Object> cells = new ArrayList<>();
    for (int row = 0; row < root.getRowCount(); row++) {
      Object cell = root.getVector(column).getObject(row);
      if (cell instanceof byte[]) {
        cells.add(Arrays.toString((byte[]) cell));
      } else if (cell instanceof List) {
        cells.add(cell.toString());
      } else {
        cells.add(cell instanceof Text ? cell.toString() : cell);
      }
    }
    return cells;
  }
}
