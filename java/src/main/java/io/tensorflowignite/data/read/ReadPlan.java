package io.tensorflowignite.data.read;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.Caches;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.data.schema.WantedTypes;
import io.tensorflowignite.data.sql.SqlSource;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Mismatch;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.ReadCommand;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.lang.IgniteFuture;

/** A ReadCommand, checked and resolved against the cache as it is. */
public final class ReadPlan {
  public static final long DEFAULT_BATCH_BYTES = 8L << 20;
  public static final long MAX_BATCH_BYTES = 1L << 30;

  private final ReadCommand command;
  private final IgniteCache<Object, Object> cache;
  private final SqlSource sql;
  private final List<CacheColumn> columns;
  private final PartitionOwners owners;
  private final List<Integer> partitions;

  private ReadPlan(
      ReadCommand command,
      IgniteCache<Object, Object> cache,
      SqlSource sql,
      List<CacheColumn> columns,
      PartitionOwners owners,
      List<Integer> partitions) {
    this.command = command;
    this.cache = cache;
    this.sql = sql;
    this.columns = columns;
    this.owners = owners;
    this.partitions = partitions;
  }

  public static ReadPlan of(Ignite ignite, UUID localNode, Schemas schemas, ReadCommand command) {
    IgniteCache<Object, Object> cache = new Caches(ignite).binary(command.getCache());
    if (command.getBatchRows() < 0
        || command.getBatchBytes() < 0
        || command.getBatchBytes() > MAX_BATCH_BYTES) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "batches of %d bytes or %d rows cannot be made; batch_bytes is 0 (default) to %d,"
                  + " batch_rows 0 or more; choose within these",
              command.getBatchBytes(), command.getBatchRows(), MAX_BATCH_BYTES));
    }
    SqlSource sql = SqlSource.of(cache, command).orElse(null);
    List<CacheColumn> columns =
        sql != null && sql.hasColumns()
            ? sql.columns(
                WantedTypes.of(command.getSchema()),
                field ->
                    schemas
                        .select(cache, List.of(field), false, WantedTypes.of(ByteString.EMPTY))
                        .get(0))
            : schemas.select(
                cache,
                command.getColumnsList(),
                command.getKey(),
                WantedTypes.of(command.getSchema()));
    PartitionOwners owners = new PartitionOwners(ignite, localNode, command.getCache());
    List<Integer> partitions = owners.resolve(command.getPartitionsList());
    return new ReadPlan(command, cache, sql, columns, owners, partitions);
  }

  public Schema schema() {
    Schema schema = CacheSchema.arrow(columns);
    return command.getNulls() == Nulls.NULLS_KEEP
        ? new Schema(
            schema.getFields().stream().map(Columns::nullable).collect(Collectors.toList()))
        : schema;
  }

  public PartitionOwners owners() {
    return owners;
  }

  /** Those named by the command; every one of the cache when it names none. */
  public List<Integer> partitions() {
    return partitions;
  }

  /** The command of a stream for some of the partitions, its columns and types fixed. */
  public ReadCommand command(List<Integer> some) {
    ReadCommand.Builder ticket =
        command.toBuilder()
            .setSchema(WantedTypes.resolved(columns))
            .clearPartitions()
            .addAllPartitions(some);
    if (sql == null || !sql.hasColumns()) {
      ticket
          .clearColumns()
          .addAllColumns(
              columns.stream()
                  .map(CacheColumn::name)
                  .filter(name -> !name.equals(CacheSchema.KEY))
                  .collect(Collectors.toList()));
    }
    return ticket.build();
  }

  /** Rows in the partitions' primary copies; -1 when they are not to be counted. */
  public long countRows() {
    if (command.getUncounted()) {
      return -1;
    }
    if (sql != null) {
      return sql.count(partitions, owners);
    }
    if (partitions.size() == owners.count()) {
      return cache.sizeLong(CachePeekMode.PRIMARY);
    }
    List<IgniteFuture<Long>> counts =
        partitions.stream()
            .map(partition -> cache.sizeLongAsync(partition, CachePeekMode.PRIMARY))
            .collect(Collectors.toList());
    return counts.stream().mapToLong(IgniteFuture::get).sum();
  }

  /**
   * @param maxBytes of a batch, however large the command wants it
   */
  public BatchWriter writer(BufferAllocator allocator, long maxBytes) {
    long wanted = command.getBatchBytes() == 0 ? DEFAULT_BATCH_BYTES : command.getBatchBytes();
    long bytes = Math.min(wanted, maxBytes);
    boolean skip = command.getOnMismatch() == Mismatch.MISMATCH_SKIP;
    return new BatchWriter(
        cache.getName(),
        columns,
        command.getNulls(),
        skip,
        bytes,
        command.getBatchRows(),
        allocator);
  }

  /** For one stream. */
  PartitionTurns turns() {
    return new PartitionTurns(owners, command.getFollow());
  }

  public RowReader reader() {
    return sql == null ? new PartitionReader(cache, owners) : sql.reader(owners);
  }
}
