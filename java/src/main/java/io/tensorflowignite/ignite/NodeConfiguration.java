package io.tensorflowignite.ignite;

import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgnitionEx;
import org.apache.ignite.internal.processors.resource.GridSpringResourceContext;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.lang.IgniteBiTuple;

/**
 * The configuration of a node that this process starts. A Spring XML file brings its beans along,
 * which the node may inject.
 */
public final class NodeConfiguration {
  private final IgniteConfiguration configuration;

  /** Null: no Spring XML file. */
  private final GridSpringResourceContext spring;

  private NodeConfiguration(IgniteConfiguration configuration, GridSpringResourceContext spring) {
    this.configuration = configuration;
    this.spring = spring;
  }

  /** Ignite's defaults. */
  public static NodeConfiguration ofDefaults() {
    return new NodeConfiguration(new IgniteConfiguration(), null);
  }

  /**
   * The first node of a Spring XML file.
   *
   * @param file a path or a URL
   */
  public static NodeConfiguration ofSpring(String file) throws IgniteCheckedException {
    IgniteBiTuple<IgniteConfiguration, ? extends GridSpringResourceContext> loaded =
        IgnitionEx.loadConfiguration(file);
    return new NodeConfiguration(loaded.get1(), loaded.get2());
  }

  /** The configuration itself, which can be changed until {@link #start}. */
  public IgniteConfiguration ignite() {
    return configuration;
  }

  /** The work directory that the node will have; creates it. */
  public String workDirectory() throws IgniteCheckedException {
    return U.workDirectory(configuration.getWorkDirectory(), configuration.getIgniteHome());
  }

  /** Starts the node, and waits until it has joined its cluster. */
  public Ignite start() throws IgniteCheckedException {
    return IgnitionEx.start(configuration, spring);
  }
}
