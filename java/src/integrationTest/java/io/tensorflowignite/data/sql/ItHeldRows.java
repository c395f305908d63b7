package io.tensorflowignite.data.sql;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.data.read.PartitionOwners;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Test;

/** Groups on real nodes, of which a query may hold few. */
public class ItHeldRows {
  private static final int ROWS = 2_000;
  private static final int HELD = 100;

  @ClassRule public static final PlainNodes NODES = PlainNodes.shared();

  private final Ignite ignite = NODES.node(0);
  private IgniteCache<Object, Object> cache;

  @Before
  public void fillCache() {
    QueryEntity entity =
        new QueryEntity(Integer.class.getName(), "Many")
            .addQueryField("id", Integer.class.getName(), null)
            .addQueryField("a", Integer.class.getName(), null)
            .setKeyFieldName("id");
    cache =
        ignite.createCache(
            new CacheConfiguration<>("many")
                .setQueryEntities(List.of(entity))
                .setBackups(1)
                .setAffinity(new RendezvousAffinityFunction(false, 64)));
    for (int i = 0; i < ROWS; i++) {
      cache.put(i, ignite.binary().builder("Many").setField("a", i % 7).build());
    }
  }

  @Test
  public void groupsAreReadAndCountedInPartsUnlessAnIndexSortsThem() {
    String both = "SELECT id, a, COUNT(*) AS n FROM Many GROUP BY id, a";
    assertTrue(parts(both, HELD) >= ROWS / 2 / HELD / 2);
    assertEquals(1, parts(both, ROWS));
    assertEquals(1, parts("SELECT id, COUNT(*) AS n FROM Many GROUP BY id", HELD));
    cache.query(new SqlFieldsQuery("CREATE INDEX sorted ON \"many\".Many (id, a)")).getAll();
    assertEquals(1, parts(both, HELD));
  }

  /** Reads the groups of the first node, counts those of both, and returns the number of parts. */
  private int parts(String sql, long held) {
    SqlTable table = new SqlCatalog(ignite, cache).table();
    SqlQueries queries =
        new SqlQueries(cache, SelectRules.statement(table, sql), new Object[0], held);
    PartitionOwners owners =
        new PartitionOwners(ignite, ignite.cluster().localNode().id(), cache.getName());
    List<Integer> all = owners.resolve(List.of());
    List<Integer> here = all.stream().filter(owners::isPrimaryHere).collect(Collectors.toList());
    List<Long> sizes =
        here.stream()
            .map(partition -> cache.localSizeLong(partition, CachePeekMode.PRIMARY))
            .collect(Collectors.toList());
    Set<Object> keys = new HashSet<>();
    List<List<Integer>> parts = queries.parts(here, sizes);
    for (List<Integer> part : parts) {
      try (FieldsQueryCursor<List<?>> rows = queries.rows(part)) {
        rows.forEach(row -> assertTrue(keys.add(row.get(0))));
      }
    }
    assertEquals(
        IntStream.range(0, ROWS)
            .filter(key -> owners.isPrimaryHere(owners.partition(key)))
            .boxed()
            .collect(Collectors.toSet()),
        keys);
    assertEquals(ROWS, queries.count(all, owners));
    assertEquals(keys.size(), queries.count(here, owners));
    return parts.size();
  }
}
