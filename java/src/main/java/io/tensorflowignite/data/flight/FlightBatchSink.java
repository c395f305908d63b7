package io.tensorflowignite.data.flight;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.v1.ReadResult;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.BackpressureStrategy;
import org.apache.arrow.flight.BackpressureStrategy.CallbackBackpressureStrategy;
import org.apache.arrow.flight.BackpressureStrategy.WaitResult;
import org.apache.arrow.flight.FlightProducer.ServerStreamListener;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * Sends batches over one Flight stream without copies: gRPC holds the buffers until they are
 * written. While one batch is sent, the next one is built, and waits until the first is written.
 */
final class FlightBatchSink implements BatchSink {
  private final ServerStreamListener stream;
  private final BackpressureStrategy readiness = new CallbackBackpressureStrategy();
  private List<BorrowedVector> vectors;
  private VectorSchemaRoot root;
  private long rows;

  /** To be called on the call's thread, before the call's events can arrive. */
  FlightBatchSink(ServerStreamListener stream) {
    this.stream = stream;
    readiness.register(stream);
    stream.setUseZeroCopy(true);
  }

  /** Sends the schema. */
  void start(Schema schema) {
    vectors = new ArrayList<>();
    schema.getFields().forEach(field -> vectors.add(new BorrowedVector(field)));
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
        vectors.get(i).wrap(sent.columns.get(i));
      }
      root.setRowCount(sent.rows);
      stream.putNext();
      rows += sent.rows;
      return true;
    }
  }

  /**
   * Ends the stream with a message without a batch: the result with the number of sent rows.
   *
   * @param skipped the rows and partitions that were not sent
   */
  void complete(ReadResult skipped, BufferAllocator allocator) {
    ReadResult result = skipped.toBuilder().setRows(rows).build();
    if (!stream.isCancelled()) {
      ArrowBuf metadata = allocator.buffer(result.getSerializedSize());
      metadata.writeBytes(result.toByteArray());
      // Flight frees the metadata.
      stream.putMetadata(metadata);
    }
    stream.completed();
  }

  void fail(Throwable error) {
    stream.error(error);
  }

  private boolean awaitReady() throws InterruptedException {
    // Without a timeout; OTHER is an interruption.
    if (readiness.waitForListener(0) == WaitResult.OTHER) {
      Thread.interrupted();
      throw new InterruptedException();
    }
    return !stream.isCancelled();
  }
}
