package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.settings.SecuritySettings;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.settings.TlsSettings;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.TaskLimits;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TensorFlowServiceTest {
  private final TensorFlowService bean = new TensorFlowService();

  @Test
  public void filesHaveTheirDefaults() {
    StorageSettings settings = bean.settings().storage;
    assertEquals("tensorflow-ignite", settings.name);
    assertEquals(1, settings.backups);
    assertNull(settings.dataRegion);
    assertEquals(2 << 20, settings.blockBytes);
    assertEquals(Duration.ofMinutes(2), settings.writerTimeout);
  }

  @Test
  public void propertiesOfFilesReachTheSettings() {
    bean.setStorageName("models");
    bean.setStorageBackups(2);
    bean.setStorageDataRegion("large");
    bean.setStorageBlockKilobytes(1024);
    bean.setStorageWriterTimeoutSeconds(7.5);
    StorageSettings settings = bean.settings().storage;
    assertEquals("models", settings.name);
    assertEquals(2, settings.backups);
    assertEquals("large", settings.dataRegion);
    assertEquals(1 << 20, settings.blockBytes);
    assertEquals(Duration.ofMillis(7_500), settings.writerTimeout);
  }

  @Test
  public void invalidPropertiesOfFilesAreRejectedByName() {
    assertRejected("storageName", () -> bean.setStorageName(""));
    assertRejected("storageBackups", () -> bean.setStorageBackups(-1));
    assertRejected("storageBlockKilobytes", () -> bean.setStorageBlockKilobytes(3));
    assertRejected("storageBlockKilobytes", () -> bean.setStorageBlockKilobytes(4097));
    assertRejected("storageWriterTimeoutSeconds", () -> bean.setStorageWriterTimeoutSeconds(0));
  }

  @Test
  public void tasksHaveNoLimitsByDefault() {
    assertEquals(TaskLimits.getDefaultInstance(), bean.settings().tasks.limits());
    assertTrue(bean.settings().tasks.environment().isEmpty());
  }

  @Test
  public void propertiesOfTasksReachTheSettings() {
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
        bean.settings().tasks.limits());
    assertEquals(Arrays.asList("https_proxy", "HADOOP_*"), bean.settings().tasks.environment());
    assertEquals(1, bean.settings().tasks.warmProcesses);
    bean.setWarmProcesses(0);
    assertEquals(0, bean.settings().tasks.warmProcesses);
  }

  @Test
  public void tasksHaveALowerPriorityThanTheirNodeUnlessItIsSetToZero() {
    assertEquals(10, startRequest().getNice());
    bean.setTaskNice(19);
    assertEquals(19, startRequest().getNice());
    bean.setTaskNice(0);
    assertEquals(0, startRequest().getNice());
  }

  private StartTaskRequest startRequest() {
    StartTaskRequest.Builder request = StartTaskRequest.newBuilder();
    bean.settings().tasks.addTo(request, bean.settings().tasks.nice);
    return request.build();
  }

  @Test
  public void readingYieldsAndHasTheLimitThatIsSet() {
    assertTrue(bean.settings().readRate.yields);
    assertEquals(0, bean.settings().readRate.bytes);
    bean.setReadRate("200MB");
    assertTrue(bean.settings().readRate.yields);
    assertEquals(200_000_000, bean.settings().readRate.bytes);
    bean.setReadRate("unlimited");
    assertFalse(bean.settings().readRate.yields);
    assertEquals(0, bean.settings().readRate.bytes);
    bean.setReadRate("adaptive");
    assertTrue(bean.settings().readRate.yields);
  }

  @Test
  public void invalidReadRatesAreRejectedByName() {
    assertRejected("readRate", () -> bean.setReadRate("-5MB"));
    assertRejected("readRate", () -> bean.setReadRate("0rows"));
    assertRejected("readRate", () -> bean.setReadRate("fast"));
    assertRejected("readRate", () -> bean.setReadRate(null));
  }

  @Test
  public void invalidPropertiesOfTasksAreRejectedByName() {
    assertRejected("taskMemoryMegabytes", () -> bean.setTaskMemoryMegabytes(-1));
    assertRejected("taskProcesses", () -> bean.setTaskProcesses(-1));
    assertRejected("taskOpenFiles", () -> bean.setTaskOpenFiles(-1));
    assertRejected("taskCpuHours", () -> bean.setTaskCpuHours(Double.NaN));
    assertRejected("taskTimeLimitHours", () -> bean.setTaskTimeLimitHours(-0.1));
    assertRejected("taskEnvironment", () -> bean.setTaskEnvironment("PATH=/bin"));
    assertRejected("taskEnvironment", () -> bean.setTaskEnvironment("*"));
    assertRejected("warmProcesses", () -> bean.setWarmProcesses(-1));
    assertRejected("warmProcesses", () -> bean.setWarmProcesses(17));
    assertRejected("taskNice", () -> bean.setTaskNice(-1));
    assertRejected("taskNice", () -> bean.setTaskNice(20));
  }

  @Test
  public void propertiesOfTheQueueReachTheSettings() {
    assertEquals(8, bean.settings().queue.maxTasks(4));
    assertFalse(bean.settings().queue.quota("alice").isPresent());
    bean.setMaxTasks(3);
    bean.setTaskQuotas(Map.of("alice", 12, "*", 6));
    assertEquals(3, bean.settings().queue.maxTasks(4));
    assertEquals(12, bean.settings().queue.quota("alice").getAsInt());
    assertEquals(6, bean.settings().queue.quota("bob").getAsInt());
    assertFalse(bean.settings().queue.quota("").isPresent());
  }

  @Test
  public void invalidPropertiesOfTheQueueAreRejectedByName() {
    assertRejected("maxTasks", () -> bean.setMaxTasks(0));
    assertRejected("maxTasks", () -> bean.setMaxTasks(10_001));
    assertRejected("taskQuotas", () -> bean.setTaskQuotas(Map.of("alice", 0)));
    assertRejected("taskQuotas", () -> bean.setTaskQuotas(Map.of("", 1)));
    assertRejected("taskQuotas", () -> bean.setTaskQuotas(Map.of("*", 1_000_001)));
  }

  @Test
  public void propertiesOfTlsReachTheSettings() {
    assertEquals(TlsSettings.Mode.AUTO, bean.settings().tls.mode);
    assertFalse(bean.settings().tls.clientCertificates);
    bean.setTls("required");
    bean.setClientCertificates("required");
    assertEquals(TlsSettings.Mode.REQUIRED, bean.settings().tls.mode);
    assertTrue(bean.settings().tls.clientCertificates);
    bean.setTls("off");
    bean.setClientCertificates("none");
    assertEquals(TlsSettings.Mode.OFF, bean.settings().tls.mode);
    assertFalse(bean.settings().tls.clientCertificates);
    assertRejected("tls", () -> bean.setTls("on"));
    assertRejected("clientCertificates", () -> bean.setClientCertificates("optional"));
  }

  @Test
  public void propertiesOfSecurityReachTheSettings() {
    String digest = String.join("", Collections.nCopies(64, "0"));
    bean.setAuthentication("required");
    bean.setTokens(Collections.singletonMap("etl", digest));
    bean.setAccess(Arrays.asList("etl read raw_*", "root all"));
    bean.setAllowUnauthenticated(true);
    SecuritySettings settings = bean.settings().security;
    assertEquals(SecuritySettings.Mode.REQUIRED, settings.mode());
    assertEquals(Collections.singletonMap("etl", digest), settings.tokens());
    assertEquals(Arrays.asList("etl read raw_*", "root all"), settings.access());
    assertTrue(settings.allowsUnauthenticated());
    assertRejected("authentication", () -> bean.setAuthentication("maybe"));
    assertRejected("authentication", () -> bean.setAuthentication("NONE"));
    assertRejected("tokens", () -> bean.setTokens(Collections.singletonMap("etl", "secret")));
    assertRejected("access", () -> bean.setAccess(Collections.singletonList("etl raed x")));
  }

  private static void assertRejected(String property, ThrowingRunnable call) {
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
    assertTrue(error.getMessage(), error.getMessage().startsWith("TensorFlowService." + property));
  }
}
