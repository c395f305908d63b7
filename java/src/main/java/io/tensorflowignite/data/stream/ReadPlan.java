package io.tensorflowignite.data.stream;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.protobuf.ByteString;
import io.tensorflowignite.data.change.ChangeFeeds;
import io.tensorflowignite.data.change.KeySelection;
import io.tensorflowignite.data.change.RowIdentity;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.OwnershipCheck;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.PartitionReader;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.data.read.ScanMemory;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.RequestedTypes;
import io.tensorflowignite.data.schema.SchemaResolver;
import io.tensorflowignite.data.sql.SqlSource;
import io.tensorflowignite.v1.Mismatch;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadLimit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.lang.IgniteFuture;

/** A ReadCommand, validated and resolved against the current cache. */
public final class ReadPlan {
  public static final long DEFAULT_BATCH_BYTES = 8L << 20;
  public static final long MAX_BATCH_BYTES = 1L << 30;
  private static final int MAX_WAIT_MILLIS = 60_000;
  private static final String DELETED = "_deleted";

  private final ReadCommand command;
  private final IgniteCache<Object, Object> cache;
  private final SqlSource sql;

  /** The columns of the cache or of the SELECT. */
  private final List<CacheColumn> selected;

  /** The selected columns, and further columns with information about each row. */
  private final List<CacheColumn> columns;

  private final PartitionOwners owners;
  private final List<Integer> partitions;
  private final CacheLosses losses;
  private final Map<Integer, PartitionPosition> since;
  private final RowIdentity identity;
  private final KeySelection selection;

  /**
   * @param authorize throws unless the caller may read a cache; called for each further cache that
   *     the command's SELECT reads
   */
  public ReadPlan(
      Ignite ignite,
      UUID localNode,
      SchemaResolver schemas,
      CacheLosses losses,
      ReadCommand command,
      Consumer<String> authorize) {
    this.command = command;
    this.losses = losses;
    cache = new CacheLookup(ignite).binary(command.getCache());
    if (command.getBatchRows() < 0
        || command.getBatchBytes() < 0
        || command.getBatchBytes() > MAX_BATCH_BYTES) {
      throw invalidRequest(
          "batches of %d bytes or %d rows are not possible; batch_bytes must be 0 (default) to %d,"
              + " and batch_rows 0 or more; choose values in these ranges",
          command.getBatchBytes(), command.getBatchRows(), MAX_BATCH_BYTES);
    }
    if (limit().getBytesPerSecond() < 0 || limit().getRowsPerSecond() < 0) {
      throw invalidRequest(
          "%d bytes or %d rows in a second are no rate of reading; read_rate has numbers above 0,"
              + " or 0 for no limit; choose one of these",
          limit().getBytesPerSecond(), limit().getRowsPerSecond());
    }
    RequestedTypes types = RequestedTypes.of(command.getSchema());
    owners = new PartitionOwners(ignite, localNode, command.getCache());
    partitions = new ArrayList<>(owners.resolve(command.getPartitionsList()));
    // First: without its rows, the columns of a cache may be unknown.
    requireWholeCache();
    if (command.getAcceptDataLoss()) {
      partitions.removeAll(losses.remembered(command.getCache()));
    }
    sql = SqlSource.of(ignite, localNode, cache, command, authorize).orElse(null);
    if (sql != null && command.getAcceptDataLoss()) {
      partitions.removeAll(sql.unreadable(losses));
    }
    requireWholeOthers();
    since = since(command, new HashSet<>(partitions));
    identity = new RowIdentity(cache);
    selection = KeySelection.of(command, sql != null, identity::choice);
    selected = command.getPositionsOnly() ? List.of() : select(schemas, types);
    List<CacheColumn> whole = command.getDeletions() ? withDeletions() : selected;
    boolean identified = command.getPositions() || command.getIdentities();
    // A SELECT may make several rows of one key.
    columns = identified && (sql == null || !sql.hasColumns()) ? identity.addTo(whole) : whole;
  }

  private List<CacheColumn> select(SchemaResolver schemas, RequestedTypes types) {
    return sql != null && sql.hasColumns()
        ? sql.columns(
            types,
            (owner, field) ->
                schemas
                    .select(owner, List.of(field), false, RequestedTypes.of(ByteString.EMPTY))
                    .get(0))
        : schemas.select(cache, command.getColumnsList(), command.getKey(), types);
  }

  private List<CacheColumn> withDeletions() {
    String problem = null;
    if (sql != null) {
      problem =
          "with a condition or SELECT; only keys are noticed, and whether a removed row met the"
              + " condition is not known; read all rows";
    } else if (command.getNulls() != Nulls.NULLS_DEFAULT
        && command.getNulls() != Nulls.NULLS_KEEP) {
      problem =
          "without a rule for nulls; a removed row has no values; set nulls to \"default\" or"
              + " \"mask\"";
    } else if (selected.stream().anyMatch(column -> column.name.equals(DELETED))) {
      problem = "although it has a column " + DELETED + "; choose other columns";
    }
    if (problem != null) {
      throw invalidRequest("deletions of cache %s cannot be read %s", command.getCache(), problem);
    }
    List<CacheColumn> all = new ArrayList<>(selected);
    String type = Boolean.class.getName();
    all.add(
        CacheColumn.of(
            DELETED, ColumnTypes.ofAnyName(type), type, () -> (key, value) -> value == null));
    return all;
  }

  private static Map<Integer, PartitionPosition> since(ReadCommand command, Set<Integer> read) {
    String problem = null;
    if (command.getSinceCount() > 0 && !command.getPositions()) {
      problem =
          "since without positions; the position after a read is part of its result; set both";
    } else if (command.getWaitMillis() < 0 || command.getWaitMillis() > MAX_WAIT_MILLIS) {
      problem =
          String.format(
              "wait_millis=%d; a node waits for a change at least 0 and at most %d ms; choose a"
                  + " value in this range",
              command.getWaitMillis(), MAX_WAIT_MILLIS);
    }
    Map<Integer, PartitionPosition> since = new HashMap<>();
    for (PartitionPosition position : command.getSinceList()) {
      if (!read.contains(position.getPartition())
          || since.put(position.getPartition(), position) != null) {
        problem =
            String.format(
                "a position of partition %d, which it does not read, or two of them; a position"
                    + " belongs to one partition of the command; remove it",
                position.getPartition());
      }
    }
    if (problem != null) {
      throw invalidRequest("the command for cache %s has %s", command.getCache(), problem);
    }
    return since;
  }

  /** Throws if a partition has lost all its copies, unless the reader accepts that. */
  void requireWhole() {
    requireWholeCache();
    requireWholeOthers();
  }

  private void requireWholeCache() {
    if (!command.getAcceptDataLoss()) {
      losses.requireWhole(cache.getName(), partitions);
    }
  }

  private void requireWholeOthers() {
    if (sql != null && !command.getAcceptDataLoss()) {
      sql.requireWhole(losses, partitions);
    }
  }

  public Schema schema() {
    Schema schema = CacheSchema.arrow(columns);
    return command.getNulls() == Nulls.NULLS_KEEP
        ? new Schema(
            schema.getFields().stream().map(Columns::nullable).collect(Collectors.toList()))
        : schema;
  }

  /** Whether {@link #countRows} runs a query. */
  boolean countsByQuery() {
    return isQuery() && !command.getUncounted();
  }

  /** The most that the reader requests in a second. */
  ReadLimit limit() {
    return command.getReadRate();
  }

  /** The caches that are read: the command's cache, and others that its SELECT names. */
  List<String> caches() {
    List<String> names = new ArrayList<>(List.of(cache.getName()));
    if (sql != null) {
      names.addAll(sql.others());
    }
    return names;
  }

  /** Whether a condition or SELECT chooses the rows. */
  boolean isQuery() {
    return sql != null;
  }

  public PartitionOwners owners() {
    return owners;
  }

  /** The partitions that the command names, or all, without those that Ignite does not read. */
  public List<Integer> partitions() {
    return partitions;
  }

  /** The command of a stream for some of the partitions, with resolved columns and types. */
  public ReadCommand command(List<Integer> some) {
    ReadCommand.Builder ticket =
        command.toBuilder()
            .setSchema(RequestedTypes.resolved(selected))
            .clearPartitions()
            .addAllPartitions(some)
            .clearSince();
    some.stream().filter(since::containsKey).map(since::get).forEach(ticket::addSince);
    if (sql == null || !sql.hasColumns()) {
      ticket
          .clearColumns()
          .addAllColumns(
              selected.stream()
                  .map(column -> column.name)
                  .filter(name -> !name.equals(CacheSchema.KEY))
                  .collect(Collectors.toList()));
    }
    return ticket.build();
  }

  /** Rows in the partitions' primary copies; -1 if the command has {@code uncounted}. */
  long countRows() {
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
   * @param maxBytes returns the upper limit for the batch size that the command requests
   */
  public BatchWriter writer(BufferAllocator allocator, LongSupplier maxBytes) {
    long requested = command.getBatchBytes() == 0 ? DEFAULT_BATCH_BYTES : command.getBatchBytes();
    return new BatchWriter(
        cache.getName(),
        columns,
        command.getNulls(),
        command.getOnMismatch() == Mismatch.MISMATCH_SKIP,
        () -> Math.min(requested, maxBytes.getAsLong()),
        command.getBatchRows(),
        allocator);
  }

  /** A new check, for one stream. */
  OwnershipCheck ownershipCheck() {
    List<PartitionOwners> all = new ArrayList<>(List.of(owners));
    if (sql != null) {
      all.addAll(sql.otherOwners());
    }
    return new OwnershipCheck(all, command.getFollow());
  }

  RowReader reader(ScanMemory scans, ChangeFeeds feeds) {
    if (sql != null && !command.getPositionsOnly()) {
      RowReader query = sql.reader(owners);
      return command.getPositions()
          ? feeds.reader(cache, query, since, sql.others().isEmpty())
          : query;
    }
    PartitionReader all =
        new PartitionReader(cache, owners, selection::has, scans, identity::partition);
    return command.getPositions()
        ? feeds.reader(cache, identity, selection, all, since, command)
        : all;
  }
}
