package io.tensorflowignite.region;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import io.tensorflowignite.LoopbackNodes;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Promise (memory): A node that joins without the project's region costs no cache. */
public class ItOwnRegionRace {
  @Rule public final TemporaryFolder work = new TemporaryFolder();

  @Test
  // Ignite's method takes the class of a configuration without its types of key and value.
  @SuppressWarnings("unchecked")
  public void aNodeWithoutTheRegionThatJoinsAfterTheChoiceCostsNoCache() throws Exception {
    LoopbackNodes cluster = new LoopbackNodes(10);
    String name = "own-region-race-" + UUID.randomUUID();
    IgniteConfiguration with = cluster.configuration(name + "-0", work.getRoot().toPath());
    with.getDataStorageConfiguration()
        .setDataRegionConfigurations(new DataRegionConfiguration().setName(OwnRegion.NAME));
    try (Ignite node = Ignition.start(with);
        Ignite other =
            Ignition.start(cluster.configuration(name + "-1", work.getRoot().toPath()))) {
      IgniteCache<String, byte[]> cache =
          OwnRegion.create(node, new CacheConfiguration<>("own"), OwnRegion.NAME);

      cache.put("key", new byte[1]);
      assertNull(cache.getConfiguration(CacheConfiguration.class).getDataRegionName());
      assertEquals(1, other.cache("own").size());
      assertEquals(2, node.cluster().nodes().size());
    }
  }
}
