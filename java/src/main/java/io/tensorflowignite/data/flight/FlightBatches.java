package io.tensorflowignite.data.flight;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.load.BatchSource;
import io.tensorflowignite.data.load.SoundVectors;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadResult;
import java.util.OptionalLong;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

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
    while (advance()) {
      ArrowBuf metadata = sealed ? stream.getLatestMetadata() : null;
      if (metadata == null) {
        VectorSchemaRoot batch = stream.getRoot();
        SoundVectors.require(batch);
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

  /** What Arrow throws while it lays a batch out is the fault of who sent it. */
  private boolean advance() {
    try {
      return stream.next();
    } catch (FlightRuntimeException | OutOfMemoryException foreseen) {
      throw foreseen;
    } catch (RuntimeException unsound) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "a batch cannot be laid out as its schema says (%s); send what Arrow's own writers"
                  + " write",
              unsound),
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
