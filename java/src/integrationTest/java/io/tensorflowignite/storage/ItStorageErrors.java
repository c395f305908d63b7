package io.tensorflowignite.storage;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.WriteMode;
import java.time.Duration;
import java.util.Collections;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Test;

public class ItStorageErrors {
  private static StorageNodes cluster;
  private static Ignite ignite;

  @BeforeClass
  public static void startNodes() throws Exception {
    cluster = new StorageNodes(2, StorageNodes.settings("any name"));
    ignite = cluster.nodes.get(0);
  }

  @AfterClass
  public static void stopNodes() throws Exception {
    cluster.close();
  }

  @Before
  public void makeWhatIsMissing() {
    ignite.cluster().state(ClusterState.ACTIVE);
    new StorageCaches(ignite, StorageNodes.settings("any name")).create();
  }

  @After
  public void activate() {
    ignite.cluster().state(ClusterState.ACTIVE);
  }

  @Test
  public void theStoresCachesAreNoUserCaches() {
    ignite.getOrCreateCache(new CacheConfiguration<>("rows").setGroupName("rows of users"));
    assertTrue(ignite.cacheNames().contains("any name-files"));
    assertTrue(ignite.cacheNames().contains("any name-blocks"));
    for (Ignite node : cluster.nodes) {
      assertEquals(Collections.singletonList("rows"), SystemCache.userCaches(node));
    }
  }

  @Test
  public void aDestroyedCacheIsNamed() {
    ignite.destroyCache("any name-files");
    for (Storage store : cluster.stores) {
      for (Runnable call : calls(store)) {
        TensorFlowIgniteException error =
            StorageTest.assertFails(ErrorCode.CACHE_NOT_FOUND, call::run);
        assertTrue(error.getMessage(), error.getMessage().contains("any name-files"));
      }
    }
    new StorageCaches(ignite, StorageNodes.settings("any name")).create();
    make(cluster.store(1), "/again");
    assertEquals("/again", cluster.store(0).tree().get("/again").getPath());
  }

  @Test
  public void aClusterThatIsNotActiveSaysSo() {
    ignite.cluster().state(ClusterState.INACTIVE);
    for (Storage store : cluster.stores) {
      for (Runnable call : calls(store)) {
        StorageTest.assertFails(ErrorCode.CLUSTER_NOT_ACTIVE, call::run);
      }
    }
  }

  @Test
  public void aClusterThatIsReadOnlyCanBeRead() {
    make(cluster.store(0), "/directory");
    ignite.cluster().state(ClusterState.ACTIVE_READ_ONLY);
    assertEquals("/directory", cluster.store(1).tree().get("/directory").getPath());
    TensorFlowIgniteException error =
        StorageTest.assertFails(
            ErrorCode.CLUSTER_NOT_ACTIVE, () -> make(cluster.store(1), "/other"));
    assertTrue(error.getMessage(), error.getMessage().contains("read-only"));
  }

  @Test
  public void aDataRegionThatIsNotConfiguredIsNamed() {
    StorageSettings settings = new StorageSettings("other", 0, "none", 4096, Duration.ofSeconds(9));
    TensorFlowIgniteException error =
        StorageTest.assertFails(
            ErrorCode.INVALID_REQUEST, () -> new StorageCaches(ignite, settings).create());
    assertTrue(error.getMessage(), error.getMessage().contains("'none'"));
  }

  private static Runnable[] calls(Storage store) {
    return new Runnable[] {
      () -> store.tree().get("/"),
      () -> store.tree().list("/", files -> {}),
      () -> store.tree().usage("/"),
      () -> make(store, "/new"),
      () -> store.tree().remove(StorageTest.removal("/new").build()),
      () -> store.writes().reserve("none", 1),
      () -> store.writes().abandon("none"),
      () ->
          store
              .writes()
              .begin(
                  BeginWriteRequest.newBuilder()
                      .setPath("/new")
                      .setMode(WriteMode.REPLACE)
                      .build()),
      () -> store.pendings().all(),
    };
  }

  private static void make(Storage store, String path) {
    store
        .tree()
        .makeDirectory(MakeDirectoryRequest.newBuilder().setPath(path).setExistOk(true).build());
  }
}
