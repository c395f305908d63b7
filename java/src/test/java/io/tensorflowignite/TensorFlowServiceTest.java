package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.security.tls.TlsSettings;
import io.tensorflowignite.storage.StorageSettings;
import java.time.Duration;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TensorFlowServiceTest {
  private final TensorFlowService bean = new TensorFlowService();

  @Test
  public void theStoreIsTheClustersOwnUnlessItIsSaidOtherwise() {
    StorageSettings settings = bean.settings().storage();
    assertEquals("tensorflow-ignite", settings.name());
    assertEquals(1, settings.backups());
    assertNull(settings.dataRegion());
    assertEquals(2 << 20, settings.blockBytes());
    assertEquals(Duration.ofMinutes(2), settings.writerTimeout());
  }

  @Test
  public void thePropertiesOfTheStoreReachIt() {
    bean.setStorageName("models");
    bean.setStorageBackups(2);
    bean.setStorageDataRegion("large");
    bean.setStorageBlockKilobytes(1024);
    bean.setStorageWriterTimeoutSeconds(7.5);
    StorageSettings settings = bean.settings().storage();
    assertEquals("models", settings.name());
    assertEquals(2, settings.backups());
    assertEquals("large", settings.dataRegion());
    assertEquals(1 << 20, settings.blockBytes());
    assertEquals(Duration.ofMillis(7_500), settings.writerTimeout());
  }

  @Test
  public void whatNoStoreCanBeIsRefusedByName() {
    assertRefused("storageName", () -> bean.setStorageName(""));
    assertRefused("storageBackups", () -> bean.setStorageBackups(-1));
    assertRefused("storageBlockKilobytes", () -> bean.setStorageBlockKilobytes(3));
    assertRefused("storageBlockKilobytes", () -> bean.setStorageBlockKilobytes(4097));
    assertRefused("storageWriterTimeoutSeconds", () -> bean.setStorageWriterTimeoutSeconds(0));
  }

  @Test
  public void connectionsAreEncryptedWhereANodeCanUnlessItIsSaidOtherwise() {
    assertEquals(TlsSettings.Mode.AUTO, bean.settings().tls().mode());
    assertFalse(bean.settings().tls().clientCertificates());
    bean.setTls("required");
    bean.setClientCertificates("required");
    assertEquals(TlsSettings.Mode.REQUIRED, bean.settings().tls().mode());
    assertTrue(bean.settings().tls().clientCertificates());
    bean.setTls("off");
    bean.setClientCertificates("none");
    assertEquals(TlsSettings.Mode.OFF, bean.settings().tls().mode());
    assertFalse(bean.settings().tls().clientCertificates());
    assertRefused("tls", () -> bean.setTls("on"));
    assertRefused("clientCertificates", () -> bean.setClientCertificates("optional"));
  }

  private static void assertRefused(String property, ThrowingRunnable call) {
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
    assertTrue(error.getMessage(), error.getMessage().startsWith("TensorFlowService." + property));
  }
}
