package io.tensorflowignite.data.shared;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.protobuf.UnsafeByteOperations;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.v1.BatchBuffer;
import io.tensorflowignite.v1.BatchLayout;
import io.tensorflowignite.v1.ReadIntoMemoryResponse;
import io.tensorflowignite.v1.ReadResult;
import java.util.List;
import java.util.function.Consumer;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.types.pojo.Schema;

/** Sends the positions of batches that lie in the reader's memory. Not thread-safe. */
public final class SegmentBatchSink implements BatchSink {
  private final Consumer<ReadIntoMemoryResponse> answers;
  private final SegmentQueue offers;
  private final SegmentArena memory;
  private long rows;

  public SegmentBatchSink(
      Consumer<ReadIntoMemoryResponse> answers, SegmentQueue offers, SegmentArena memory) {
    this.answers = answers;
    this.offers = offers;
    this.memory = memory;
  }

  public void start(Schema schema) {
    answers.accept(
        ReadIntoMemoryResponse.newBuilder()
            .setSchema(UnsafeByteOperations.unsafeWrap(schema.serializeAsMessage()))
            .build());
  }

  @Override
  public boolean send(Batch batch) throws InterruptedException {
    try (Batch sent = batch) {
      if (offers.isAbandoned()) {
        return false;
      }
      BatchLayout.Builder layout = sent.layout();
      layOut(sent.buffers()).forEach(layout::addBuffers);
      int segment = memory.block().id;
      memory.next();
      answers.accept(
          ReadIntoMemoryResponse.newBuilder().setBatch(layout).setSegment(segment).build());
      rows += sent.rows;
      return true;
    }
  }

  /**
   * Sends the result with the number of sent rows.
   *
   * @param skipped the rows and partitions that were not sent
   */
  public void complete(ReadResult skipped) {
    answers.accept(
        ReadIntoMemoryResponse.newBuilder().setResult(skipped.toBuilder().setRows(rows)).build());
  }

  private List<BatchBuffer> layOut(List<ArrowBuf> buffers) throws InterruptedException {
    MappedSegment segment = memory.block();
    long bytes = SegmentLayout.bytes(buffers);
    if (bytes <= segment.bytes()) {
      return SegmentLayout.of(buffers, segment, memory.end());
    }
    if (bytes > MappedMemory.MAX_BYTES) {
      throw invalidRequest(
          "a batch of %d bytes cannot be shared; a segment holds at most %d bytes; make batches"
              + " smaller (batch_bytes), or read fewer columns at once (columns=[...])",
          bytes, MappedMemory.MAX_BYTES);
    }
    MappedSegment tooSmall = memory.exchange(bytes);
    answers.accept(ReadIntoMemoryResponse.newBuilder().setNeedsBytes(bytes).build());
    List<BatchBuffer> layout = SegmentLayout.of(buffers, memory.block(), 0);
    offers.release(tooSmall);
    return layout;
  }
}
