package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_CREATE;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PublishWriteRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignition;
import org.junit.Test;

public class ItNodeLoss {
  private static final int FILES = 80;

  @Test
  public void changesGoOnWhileANodeIsLost() throws Exception {
    try (StorageNodes cluster = new StorageNodes(3, StorageNodes.settings("store"))) {
      CountDownLatch begun = new CountDownLatch(FILES / 2);
      Race race = new Race();
      for (int node = 0; node < 2; node++) {
        Storage store = cluster.store(node);
        String directory = "/node" + node;
        race.with(
            () -> {
              store.tree().makeDirectory(StorageTest.making(directory).build());
              for (int i = 0; i < FILES; i++) {
                create(store, directory + "/new");
                store
                    .tree()
                    .rename(
                        StorageTest.renaming(directory + "/new", directory + "/file" + i).build());
                begun.countDown();
              }
            });
      }
      race.with(
          () -> {
            begun.await(30, TimeUnit.SECONDS);
            cluster.stores.remove(2).close();
            Ignition.stop(cluster.nodes.remove(2).name(), true);
          });
      race.run();
      for (Storage store : cluster.stores) {
        for (int node = 0; node < 2; node++) {
          List<FileInfo> files = new ArrayList<>();
          store.tree().list("/node" + node, files::addAll);
          assertEquals(FILES, files.size());
        }
        new TreeCheck(store).assertConsistent();
      }
    }
  }

  private static void create(Storage store, String path) {
    BeginWriteResponse writer =
        store.writers().begin(StorageTest.beginning(path).setMode(WRITE_MODE_CREATE).build());
    PublishWriteRequest.Builder publication = StorageTest.publication(writer, 0);
    store.writers().publish(publication.setPath(path).setDone(true).build());
  }
}
