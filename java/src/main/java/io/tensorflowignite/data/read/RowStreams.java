package io.tensorflowignite.data.read;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.util.UUID;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.ignite.Ignite;

/** Streams of this node's rows, whatever carries them. */
public final class RowStreams {
  private final Ignite ignite;
  private final UUID localNode;
  private final Schemas schemas;
  private final long maxBatchBytes;

  public RowStreams(Ignite ignite, UUID localNode, Schemas schemas, long maxBatchBytes) {
    this.maxBatchBytes = maxBatchBytes;
    this.ignite = ignite;
    this.localNode = localNode;
    this.schemas = schemas;
  }

  /** What a command that names its partitions reads. */
  public ReadPlan plan(ReadCommand command) {
    if (command.getPartitionsCount() == 0) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the ticket for cache %s names no partition; a node sends the partitions that are"
                  + " named; take the tickets from GetFlightInfo",
              command.getCache()));
    }
    return ReadPlan.of(ignite, localNode, schemas, command);
  }

  /**
   * Reads all rows of a plan into batches for a carrier.
   *
   * @param allocator what the batches are laid into; free again when this returns, but for those
   *     that the carrier still holds
   * @return what was left out: rows that do not fit the schema, and partitions that have moved
   */
  public ReadResult read(ReadPlan plan, BufferAllocator allocator, BatchCarrier carrier)
      throws InterruptedException {
    try (BatchWriter writer = plan.writer(allocator, maxBatchBytes)) {
      PartitionTurns turns = plan.turns();
      plan.reader().read(plan.partitions(), turns, writer, carrier);
      return ReadResult.newBuilder()
          .setSkipped(writer.skipped())
          .addAllMoved(turns.moved())
          .build();
    }
  }
}
