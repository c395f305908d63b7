package io.tensorflowignite.data.load;

import java.util.OptionalLong;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/** The record batches of a load. */
public interface BatchSource {
  Schema schema();

  /** The next batch, which is valid until the next call; null at the end. */
  VectorSchemaRoot next();

  /** After the end: the number of rows that the sender has sent; empty if it did not report it. */
  OptionalLong seal();
}
