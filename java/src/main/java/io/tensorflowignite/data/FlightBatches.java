package io.tensorflowignite.data;

import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/** The batches that a client puts. */
final class FlightBatches implements BatchSource {
  private final FlightStream stream;

  FlightBatches(FlightStream stream) {
    this.stream = stream;
  }

  @Override
  public Schema schema() {
    return stream.getSchema();
  }

  @Override
  public VectorSchemaRoot next() {
    return stream.next() ? stream.getRoot() : null;
  }
}
