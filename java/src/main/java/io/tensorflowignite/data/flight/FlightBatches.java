package io.tensorflowignite.data.flight;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.load.BatchSource;
import io.tensorflowignite.data.load.VectorValidation;
import io.tensorflowignite.v1.LoadResult;
import java.util.OptionalLong;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/** The batches of a client's DoPut. */
final class FlightBatches implements BatchSource {
  private final FlightStream stream;
  private final boolean sealed;
  private OptionalLong seal = OptionalLong.empty();

  /**
   * @param sealed the last message holds the number of rows, and no batch
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
        VectorValidation.require(batch);
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

  /** Reads the next message. An exception of Arrow means that the client's batch is invalid. */
  private boolean advance() {
    try {
      return stream.next();
    } catch (FlightRuntimeException | OutOfMemoryException expected) {
      throw expected;
    } catch (RuntimeException invalid) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_INVALID_REQUEST,
          String.format(
              "a batch cannot be read (%s); a batch must fit its schema; send the output of Arrow's"
                  + " own writers",
              invalid),
          invalid);
    }
  }

  private static long rows(ArrowBuf metadata) {
    byte[] bytes = new byte[(int) metadata.readableBytes()];
    metadata.getBytes(metadata.readerIndex(), bytes);
    try {
      return LoadResult.parseFrom(bytes).getRows();
    } catch (InvalidProtocolBufferException malformed) {
      throw invalidRequest(
          "the metadata of a batch hold no LoadResult (%s); in a sealed load only the last message"
              + " has metadata, a LoadResult; send batches without metadata",
          malformed.getMessage());
    }
  }
}
