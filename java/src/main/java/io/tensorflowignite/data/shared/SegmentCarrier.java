package io.tensorflowignite.data.shared;

import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.read.BatchCarrier;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.v1.BatchBuffer;
import io.tensorflowignite.v1.BatchLayout;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ReadResult;
import io.tensorflowignite.v1.SharedBatch;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.types.pojo.Schema;

/** Carries batches by telling the reader where in its memory they lie. One thread uses it. */
final class SegmentCarrier implements BatchCarrier {
  private final StreamObserver<SharedBatch> answers;
  private final SegmentOffers offers;
  private final SegmentMemory memory;
  private long rows;

  SegmentCarrier(StreamObserver<SharedBatch> answers, SegmentOffers offers, SegmentMemory memory) {
    this.answers = answers;
    this.offers = offers;
    this.memory = memory;
  }

  void start(Schema schema) {
    answers.onNext(
        SharedBatch.newBuilder()
            .setSchema(UnsafeByteOperations.unsafeWrap(schema.serializeAsMessage()))
            .build());
  }

  @Override
  public boolean send(Batch batch) throws InterruptedException {
    try (Batch sent = batch) {
      if (offers.isAbandoned()) {
        return false;
      }
      SegmentLayout places = layOut(sent.buffers());
      BatchLayout.Builder layout = sent.layout();
      for (int i = 0; i < places.size(); i++) {
        layout.addBuffers(
            BatchBuffer.newBuilder().setOffset(places.offset(i)).setBytes(places.bytes(i)));
      }
      int segment = memory.block().id();
      memory.next();
      answers.onNext(SharedBatch.newBuilder().setBatch(layout).setSegment(segment).build());
      rows += sent.rows();
      return true;
    }
  }

  /**
   * Tells that all rows were sent.
   *
   * @param leftOut what was not
   */
  void complete(ReadResult leftOut) {
    answers.onNext(SharedBatch.newBuilder().setResult(leftOut.toBuilder().setRows(rows)).build());
  }

  private SegmentLayout layOut(List<ArrowBuf> buffers) throws InterruptedException {
    MappedSegment segment = memory.block();
    long bytes = SegmentLayout.bytes(buffers);
    if (bytes <= segment.bytes()) {
      return SegmentLayout.of(buffers, segment, memory.end());
    }
    if (bytes > MappedMemory.MAX_BYTES) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "a batch of %d bytes cannot be shared; a segment holds at most %d; make batches"
                  + " smaller (batch_bytes), or read fewer columns at once (columns=[...])",
              bytes, MappedMemory.MAX_BYTES));
    }
    return layOutInLarger(buffers, bytes);
  }

  private SegmentLayout layOutInLarger(List<ArrowBuf> buffers, long bytes)
      throws InterruptedException {
    MappedSegment outgrown = memory.exchange(bytes);
    answers.onNext(SharedBatch.newBuilder().setNeedsBytes(bytes).build());
    SegmentLayout layout = SegmentLayout.of(buffers, memory.block(), 0);
    offers.release(outgrown);
    return layout;
  }
}
