package io.tensorflowignite;

import io.tensorflowignite.data.schema.NodeZones;
import io.tensorflowignite.ignite.LocalNode;
import io.tensorflowignite.node.InactiveApi;
import io.tensorflowignite.predict.sql.SqlPredictions;
import java.io.Serializable;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteSystemProperties;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.plugin.CachePluginContext;
import org.apache.ignite.plugin.CachePluginProvider;
import org.apache.ignite.plugin.ExtensionRegistry;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginConfiguration;
import org.apache.ignite.plugin.PluginContext;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.services.ServiceConfiguration;

/**
 * Ignite finds this class in our jar and starts it with the node, also where the cluster is not
 * active and therefore has no services. Then callers of the node API get the reason.
 */
@SuppressWarnings("rawtypes") // As Ignite's interface.
public final class TensorFlowPlugin implements PluginProvider<PluginConfiguration> {
  /**
   * Ignite plans a condition such as {@code id BETWEEN 1 AND 1000000000000} on an integer key by a
   * loop over these numbers, until it has found more partitions than this property says. In a cache
   * with fewer partitions the loop does not end, and nothing can cancel it.
   */
  private static final String MAX_PARTITIONS_OF_RANGE =
      IgniteSystemProperties.IGNITE_SQL_MAX_EXTRACTED_PARTS_FROM_BETWEEN;

  private static final class Plugin implements IgnitePlugin {}

  private final Plugin plugin = new Plugin();
  private Ignite ignite;
  private InactiveApi inactive;

  @Override
  public String name() {
    return TensorFlowService.NAME;
  }

  @Override
  public String version() {
    return String.valueOf(TensorFlowPlugin.class.getPackage().getImplementationVersion());
  }

  @Override
  public String copyright() {
    return "";
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T extends IgnitePlugin> T plugin() {
    return (T) plugin;
  }

  @Override
  public void start(PluginContext context) {
    ignite = context.grid();
    NodeZones.announce(ignite);
    if (hasSqlFunctions()) {
      SqlPredictions.announce(ignite);
    }
  }

  /**
   * Whether this is a server whose bean, if it has one, turns the functions of SQL on, and may run
   * here.
   */
  private boolean hasSqlFunctions() {
    if (ignite.configuration().isClientMode()) {
      return false;
    }
    ServiceConfiguration service = TensorFlowService.configured(ignite.configuration());
    return service == null
        || (service.getNodeFilter() == null
            && ((TensorFlowService) service.getService()).settings().sqlFunctions);
  }

  @Override
  public void onIgniteStart() {
    if (ignite.cluster().localNode().isClient()) {
      // A client node reads the text of its queries itself; the servers decide.
      SqlPredictions.createFunctions(ignite);
      return;
    }
    ServiceConfiguration service = TensorFlowService.configured(ignite.configuration());
    if (service == null) {
      return;
    }
    IgnitePredicate<ClusterNode> filter = service.getNodeFilter();
    if (filter == null || filter.apply(ignite.cluster().localNode())) {
      inactive = InactiveApi.of(ignite);
      inactive.open(((TensorFlowService) service.getService()).settings());
    }
  }

  @Override
  public void onIgniteStop(boolean cancel) {
    if (inactive != null) {
      inactive.close();
    }
  }

  @Override
  public void stop(boolean cancel) {
    if (ignite != null) {
      SqlPredictions.forget(ignite);
    }
  }

  @Override
  public void initExtensions(PluginContext context, ExtensionRegistry registry) {
    // Before Ignite's query engine starts, which reads it once.
    if (System.getProperty(MAX_PARTITIONS_OF_RANGE) == null) {
      System.setProperty(MAX_PARTITIONS_OF_RANGE, "0");
    }
  }

  @Override
  public <T> T createComponent(PluginContext context, Class<T> type) {
    return null;
  }

  @Override
  public CachePluginProvider<?> createCacheProvider(CachePluginContext context) {
    return null;
  }

  @Override
  public Serializable provideDiscoveryData(UUID node) {
    // Before this node joins: it may get a part of a query as soon as it has rows.
    if (node.equals(LocalNode.id(ignite)) && hasSqlFunctions()) {
      SqlPredictions.expect(ignite);
    }
    return null;
  }

  @Override
  public void receiveDiscoveryData(UUID node, Serializable data) {}

  @Override
  @Deprecated
  public void validateNewNode(ClusterNode node) {}
}
