package io.tensorflowignite.data.flight;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.read.BatchCarrier;
import io.tensorflowignite.v1.ReadResult;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.FlightProducer.ServerStreamListener;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * Carries batches over one Flight stream, without copying them: gRPC holds on to the buffers until
 * they are written. While one batch travels the next is built, and waits for the first to be gone.
 */
final class FlightCarrier implements BatchCarrier {
  private final ServerStreamListener stream;
  private final Object readiness = new Object();
  private List<CarriedVector> vectors;
  private VectorSchemaRoot root;
  private long rows;

  /** To be made on the thread that brings the call, before its events can come. */
  FlightCarrier(ServerStreamListener stream) {
    this.stream = stream;
    stream.setOnReadyHandler(this::wake);
    stream.setOnCancelHandler(this::wake);
    stream.setUseZeroCopy(true);
  }

  /** Sends the schema. */
  void start(Schema schema) {
    vectors = new ArrayList<>();
    schema.getFields().forEach(field -> vectors.add(new CarriedVector(field)));
    root = new VectorSchemaRoot(schema, new ArrayList<FieldVector>(vectors), 0);
    stream.start(root);
  }

  @Override
  public boolean send(Batch batch) throws InterruptedException {
    try (Batch sent = batch) {
      if (!awaitReady()) {
        return false;
      }
      for (int i = 0; i < vectors.size(); i++) {
        vectors.get(i).lend(sent.columns().get(i));
      }
      root.setRowCount(sent.rows());
      stream.putNext();
      rows += sent.rows();
      return true;
    }
  }

  /**
   * Tells how many rows were sent, in a message of its own without a batch.
   *
   * @param leftOut what was not
   */
  void complete(ReadResult leftOut, BufferAllocator allocator) {
    ReadResult result = leftOut.toBuilder().setRows(rows).build();
    if (!stream.isCancelled()) {
      ArrowBuf metadata = allocator.buffer(result.getSerializedSize());
      metadata.writeBytes(result.toByteArray());
      // Flight frees it.
      stream.putMetadata(metadata);
    }
    stream.completed();
  }

  void fail(Throwable error) {
    stream.error(error);
  }

  private boolean awaitReady() throws InterruptedException {
    synchronized (readiness) {
      while (!stream.isReady() && !stream.isCancelled()) {
        readiness.wait();
      }
    }
    return !stream.isCancelled();
  }

  private void wake() {
    synchronized (readiness) {
      readiness.notifyAll();
    }
  }
}
