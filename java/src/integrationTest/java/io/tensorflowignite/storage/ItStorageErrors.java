package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;
import static org.apache.ignite.transactions.TransactionConcurrency.PESSIMISTIC;
import static org.apache.ignite.transactions.TransactionIsolation.REPEATABLE_READ;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Full;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.storage.cache.ShortTransactions;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.table.SystemCache;
import java.util.Collections;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.transactions.Transaction;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Test;
import org.junit.experimental.categories.Category;

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
  public void createMissingCaches() {
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
            StorageTest.assertFails(ERROR_CODE_CACHE_NOT_FOUND, call::run);
        assertTrue(error.getMessage(), error.getMessage().contains("any name-files"));
      }
    }
    new StorageCaches(ignite, StorageNodes.settings("any name")).create();
    make(cluster.store(1), "/again");
    assertEquals("/again", cluster.store(0).tree().get("/again").getPath());
  }

  @Test
  public void inAnInactiveClusterCallsFailWithTheReason() {
    ignite.cluster().state(ClusterState.INACTIVE);
    for (Storage store : cluster.stores) {
      for (Runnable call : calls(store)) {
        StorageTest.assertFails(ERROR_CODE_CLUSTER_NOT_ACTIVE, call::run);
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
            ERROR_CODE_CLUSTER_NOT_ACTIVE, () -> make(cluster.store(1), "/other"));
    assertTrue(error.getMessage(), error.getMessage().contains("read-only"));
  }

  @Test
  @Category(Full.class)
  public void aChangeThatWaitsForALockNamesTheTransactionThatHoldsIt() throws Exception {
    ExecutorService other = Executors.newSingleThreadExecutor();
    try (Transaction open = ignite.transactions().txStart(PESSIMISTIC, REPEATABLE_READ)) {
      ignite.cache("any name-files").get(ShortTransactions.rootKey());
      for (int node = 0; node < 2; node++) {
        Ignite changed = cluster.nodes.get(node);
        Storage store = cluster.store(node);
        Future<?> change = other.submit(() -> ShortTransactions.changeRoot(changed, store));
        ExecutionException failed = assertThrows(ExecutionException.class, change::get);
        TensorFlowIgniteException error = (TensorFlowIgniteException) failed.getCause();
        String text = error.getMessage();
        // On a busy machine the first of several attempts may last as long as all of them.
        assertTrue(
            text,
            text.startsWith("Changing '/' did not succeed: other callers ")
                || text.startsWith("Changing '/' timed out: the cluster did not commit "));
        assertTrue(text, text.contains(" 2 s. "));
        assertTrue(text, text.length() < 500);
        assertFalse(text, text.contains("Grid") || text.contains("["));
        if (node == 0) {
          String id = ignite.cluster().localNode().id().toString().substring(0, 8);
          assertTrue(text, text.contains("a transaction of node " + id + " is open for "));
        }
      }
      open.rollback();
    } finally {
      other.shutdown();
    }
    ShortTransactions.changeRoot(ignite, cluster.store(0));
  }

  private static Runnable[] calls(Storage store) {
    return new Runnable[] {
      () -> store.tree().get("/"),
      () -> store.tree().list("/", files -> {}),
      () -> store.tree().usage("/"),
      () -> make(store, "/new"),
      () -> store.tree().remove(StorageTest.removal("/new").build()),
      () -> store.writers().reserve("none", 1),
      () -> store.writers().abandon("none"),
      () -> store.writers().begin(StorageTest.beginning("/new").build()),
      () -> store.pendingTable().all(),
    };
  }

  private static void make(Storage store, String path) {
    store.tree().makeDirectory(StorageTest.making(path).setExistOk(true).build());
  }
}
