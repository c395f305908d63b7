package io.tensorflowignite.data.flight;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.load.BatchSource;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadResult;
import java.util.OptionalLong;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.ValueVectorUtility;

/** The batches that a client puts. */
final class FlightBatches implements BatchSource {
  private final FlightStream stream;
  private final boolean sealed;
  private OptionalLong seal = OptionalLong.empty();

  /**
   * @param sealed its last message carries the number of rows, and no batch
   */
  FlightBatches(FlightStream stream, boolean sealed) {
    this.stream = stream;
    this.sealed = sealed;
  }

  @Override
  public Schema schema() {
    return stream.getSchema();
  }

  @Override
  public VectorSchemaRoot next() {
    while (stream.next()) {
      ArrowBuf metadata = sealed ? stream.getLatestMetadata() : null;
      if (metadata == null) {
        VectorSchemaRoot batch = stream.getRoot();
        requireSound(batch);
        return batch;
      }
      seal = OptionalLong.of(rows(metadata));
    }
    return null;
  }

  @Override
  public OptionalLong seal() {
    return seal;
  }

  /** Its reader takes positions and lengths as they stand there. */
  private static void requireSound(VectorSchemaRoot batch) {
    try {
      ValueVectorUtility.validateFull(batch);
    } catch (RuntimeException unsound) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "a batch of rows contradicts itself (%s); positions in it grow, and lie within its"
                  + " buffers; send what Arrow's own writers write",
              unsound.getMessage()),
          unsound);
    }
  }

  private static long rows(ArrowBuf metadata) {
    byte[] bytes = new byte[(int) metadata.readableBytes()];
    metadata.getBytes(metadata.readerIndex(), bytes);
    try {
      return LoadResult.parseFrom(bytes).getRows();
    } catch (InvalidProtocolBufferException malformed) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the metadata of a batch hold no LoadResult (%s); of a sealed load only the last"
                  + " message carries metadata, that one; leave them out",
              malformed.getMessage()));
    }
  }
}
