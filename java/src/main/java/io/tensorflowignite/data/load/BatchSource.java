package io.tensorflowignite.data.load;

import java.util.OptionalLong;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/** Where the record batches of a load come from. */
public interface BatchSource {
  Schema schema();

  /** The next batch, valid until the next call; null at the end. */
  VectorSchemaRoot next();

  /** At the end: how many rows the sender says it sent; empty when it does not say. */
  OptionalLong seal();
}
