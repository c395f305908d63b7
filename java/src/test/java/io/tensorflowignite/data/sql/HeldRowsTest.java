package io.tensorflowignite.data.sql;

import static org.junit.Assert.assertEquals;

import java.util.List;
import org.junit.Test;

/**
 * A query with groups reads partitions in parts, which have a bounded number of rows.
 *
 * <p>Promise (sql): A query holds a bounded number of groups and of values of a list on the heap.
 */
public class HeldRowsTest {
  @Test
  public void partsHaveAtMostTheRowsThatMayBeHeldAndOnePartitionAtLeast() {
    List<Integer> partitions = List.of(4, 7, 1, 9, 3);
    List<Long> rows = List.of(10L, 20L, 90L, 0L, 200L);

    assertEquals(
        List.of(List.of(4, 7), List.of(1, 9), List.of(3)),
        SqlQueries.partsOfRows(partitions, rows, 99));
    assertEquals(List.of(partitions), SqlQueries.partsOfRows(partitions, rows, 320));
    assertEquals(5, SqlQueries.partsOfRows(partitions, List.of(9L, 9L, 9L, 9L, 9L), 8).size());
    assertEquals(List.of(), SqlQueries.partsOfRows(List.of(), List.of(), 8));
  }

  @Test
  public void aPartOfAllNodesHasAPartOfEach() {
    List<List<Integer>> nodes = List.of(List.of(0, 1, 2, 3), List.of(4, 5, 6), List.of(7));

    assertEquals(
        List.of(List.of(0, 1, 4), List.of(2, 3, 5, 6, 7)), SqlQueries.partsOfNodes(nodes, 2));
    assertEquals(List.of(List.of(0, 1, 2, 3, 4, 5, 6, 7)), SqlQueries.partsOfNodes(nodes, 1));
    assertEquals(8, SqlQueries.partsOfNodes(nodes, 30).stream().mapToInt(List::size).sum());
  }
}
