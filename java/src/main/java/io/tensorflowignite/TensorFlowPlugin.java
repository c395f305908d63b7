package io.tensorflowignite;

import io.tensorflowignite.node.InactiveApi;
import java.io.Serializable;
import java.util.UUID;
import org.apache.ignite.Ignite;
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
  }

  @Override
  public void onIgniteStart() {
    ServiceConfiguration service = TensorFlowService.configured(ignite);
    if (service == null || ignite.cluster().localNode().isClient()) {
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
  public void stop(boolean cancel) {}

  @Override
  public void initExtensions(PluginContext context, ExtensionRegistry registry) {}

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
    return null;
  }

  @Override
  public void receiveDiscoveryData(UUID node, Serializable data) {}

  @Override
  @Deprecated
  public void validateNewNode(ClusterNode node) {}
}
