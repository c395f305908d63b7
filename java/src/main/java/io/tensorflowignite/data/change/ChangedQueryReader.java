package io.tensorflowignite.data.change;

import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.OwnershipCheck;
import io.tensorflowignite.data.read.ReadPace;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Reads the rows of SQL again if any of their partitions has changed: which rows a condition
 * selected before is not known. For one stream.
 */
final class ChangedQueryReader implements RowReader {
  private final ChangeFeed feed;
  private final RowReader query;
  private final Map<Integer, PartitionPosition> since;
  private final List<PartitionPosition> positions = new ArrayList<>();
  private final List<Integer> whole = new ArrayList<>();

  ChangedQueryReader(ChangeFeed feed, RowReader query, Map<Integer, PartitionPosition> since) {
    this.feed = feed;
    this.query = query;
    this.since = since;
  }

  @Override
  public void read(
      List<Integer> partitions,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    feed.verify(partitions);
    partitions.forEach(partition -> positions.add(feed.position(partition)));
    boolean isKnown =
        partitions.stream().allMatch(since::containsKey)
            && since.values().stream().noneMatch(feed::hasChanged);
    if (!isKnown) {
      whole.addAll(partitions);
      query.read(partitions, ownership, writer, sink, pace);
    }
    positions.removeIf(position -> ownership.moved().contains(position.getPartition()));
    whole.removeAll(ownership.moved());
  }

  @Override
  public void addTo(ReadResult.Builder result) {
    result.addAllPositions(positions).addAllWhole(whole);
  }
}
