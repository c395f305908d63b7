package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.security.SecuritySettings;
import io.tensorflowignite.security.tls.TlsSettings;
import io.tensorflowignite.storage.StorageSettings;
import io.tensorflowignite.v1.TaskLimits;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
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
  public void tasksAreLimitedInNothingUnlessItIsSaid() {
    assertEquals(TaskLimits.getDefaultInstance(), bean.settings().tasks().limits());
    assertTrue(bean.settings().tasks().environment().isEmpty());
  }

  @Test
  public void thePropertiesOfTasksReachThem() {
    bean.setTaskMemoryMegabytes(4096);
    bean.setTaskProcesses(16);
    bean.setTaskOpenFiles(1024);
    bean.setTaskCpuHours(0.5);
    bean.setTaskTimeLimitHours(48);
    bean.setTaskEnvironment("https_proxy", "HADOOP_*");
    assertEquals(
        TaskLimits.newBuilder()
            .setMemoryBytes(4L << 30)
            .setProcesses(16)
            .setOpenFiles(1024)
            .setCpuTime(Durations.fromMinutes(30))
            .setRunTime(Durations.fromHours(48))
            .build(),
        bean.settings().tasks().limits());
    assertEquals(Arrays.asList("https_proxy", "HADOOP_*"), bean.settings().tasks().environment());
  }

  @Test
  public void whatNoTaskCanHaveIsRefusedByName() {
    assertRefused("taskMemoryMegabytes", () -> bean.setTaskMemoryMegabytes(-1));
    assertRefused("taskProcesses", () -> bean.setTaskProcesses(-1));
    assertRefused("taskOpenFiles", () -> bean.setTaskOpenFiles(-1));
    assertRefused("taskCpuHours", () -> bean.setTaskCpuHours(Double.NaN));
    assertRefused("taskTimeLimitHours", () -> bean.setTaskTimeLimitHours(-0.1));
    assertRefused("taskEnvironment", () -> bean.setTaskEnvironment("PATH=/bin"));
    assertRefused("taskEnvironment", () -> bean.setTaskEnvironment("*"));
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

  @Test
  public void whoIsAskedAndWhoMayWhatReachTheNodes() {
    String digest = String.join("", Collections.nCopies(64, "0"));
    bean.setAuthentication("required");
    bean.setTokens(Collections.singletonMap("etl", digest));
    bean.setAccess(Arrays.asList("etl read raw_*", "root all"));
    bean.setAllowUnauthenticated(true);
    SecuritySettings settings = bean.settings().security();
    assertEquals(SecuritySettings.Mode.REQUIRED, settings.mode());
    assertEquals(Collections.singletonMap("etl", digest), settings.tokens());
    assertEquals(Arrays.asList("etl read raw_*", "root all"), settings.access());
    assertTrue(settings.allowsUnauthenticated());
    assertRefused("authentication", () -> bean.setAuthentication("maybe"));
    assertRefused("tokens", () -> bean.setTokens(Collections.singletonMap("etl", "secret")));
    assertRefused("access", () -> bean.setAccess(Collections.singletonList("etl raed x")));
  }

  private static void assertRefused(String property, ThrowingRunnable call) {
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
    assertTrue(error.getMessage(), error.getMessage().startsWith("TensorFlowService." + property));
  }
}
