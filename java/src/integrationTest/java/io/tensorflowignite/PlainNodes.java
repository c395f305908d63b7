package io.tensorflowignite;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.junit.rules.ExternalResource;
import org.junit.rules.TemporaryFolder;

/** Nodes without our service for the tests of a class. */
public class PlainNodes extends ExternalResource {
  private static final PlainNodes SHARED = new Shared();

  private final int count;
  private final DataRegionConfiguration[] others;
  private final TemporaryFolder folder = new TemporaryFolder();
  private final List<Ignite> nodes = new ArrayList<>();
  private long megabytes = 256;

  /**
   * @param others data regions of each node beside the default one
   */
  public PlainNodes(int count, DataRegionConfiguration... others) {
    this.count = count;
    this.others = others;
  }

  /** The largest size of the default data region. */
  public PlainNodes megabytes(long most) {
    megabytes = most;
    return this;
  }

  /** Two nodes for every class that needs nothing else: it begins without caches and services. */
  public static PlainNodes shared() {
    return SHARED;
  }

  public final Ignite node(int index) {
    return nodes.get(index);
  }

  @Override
  protected void before() throws IOException {
    folder.create();
    LoopbackNodes network = new LoopbackNodes(count);
    for (int number = 0; number < count; number++) {
      DataStorageConfiguration storage =
          LoopbackNodes.storage(new DataRegionConfiguration().setMaxSize(megabytes << 20))
              .setDataRegionConfigurations(others);
      nodes.add(
          Ignition.start(
              network
                  .configuration("plain-" + hashCode() + "-" + number, folder.getRoot().toPath())
                  .setDataStorageConfiguration(storage)));
    }
  }

  @Override
  protected void after() {
    nodes.forEach(Ignite::close);
    nodes.clear();
    folder.delete();
  }

  private static final class Shared extends PlainNodes {
    private boolean isStarted;

    Shared() {
      super(2);
    }

    @Override
    protected void before() throws IOException {
      if (!isStarted) {
        super.before();
        AtExit.close(super::after);
        isStarted = true;
      }
    }

    @Override
    protected void after() {
      node(0).services().cancelAll();
      node(0).destroyCaches(node(0).cacheNames());
    }
  }
}
