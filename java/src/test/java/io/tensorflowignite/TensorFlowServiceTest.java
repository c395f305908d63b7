package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
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
import java.util.List;
import java.util.Map;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TensorFlowServiceTest {
  private final TensorFlowService bean = new TensorFlowService();

  @Test
  public void propertiesOfFilesReachTheSettings() {
    assertFiles("tensorflow-ignite", 1, null, 2 << 20, Duration.ofMinutes(2));
    bean.setStorageName("models");
    bean.setStorageBackups(2);
    bean.setStorageDataRegion("large");
    bean.setStorageBlockKilobytes(1024);
    bean.setStorageWriterTimeoutSeconds(7.5);
    assertFiles("models", 2, "large", 1 << 20, Duration.ofMillis(7_500));
  }

  private void assertFiles(String name, int backups, String region, int block, Duration timeout) {
    StorageSettings settings = bean.settings().storage;
    assertEquals(name, settings.name);
    assertEquals(backups, settings.backups);
    assertEquals(region, settings.dataRegion);
    assertEquals(block, settings.blockBytes);
    assertEquals(timeout, settings.writerTimeout);
  }

  @Test
  public void propertiesOfTasksReachTheSettings() {
    assertEquals(TaskLimits.getDefaultInstance(), bean.settings().tasks.limits());
    assertTrue(bean.settings().tasks.environment().isEmpty());
    assertEquals(1, bean.settings().tasks.warmProcesses);
    bean.setTaskMemoryMegabytes(4096);
    bean.setTaskProcesses(16);
    bean.setTaskOpenFiles(1024);
    bean.setTaskCpuHours(0.5);
    bean.setTaskTimeLimitHours(48);
    bean.setTaskEnvironment("https_proxy", "HADOOP_*");
    bean.setWarmProcesses(0);
    assertEquals(
        TaskLimits.newBuilder()
            .setMemoryBytes(4L << 30)
            .setProcesses(16)
            .setOpenFiles(1024)
            .setCpuTime(Durations.fromMinutes(30))
            .setRunTime(Durations.fromHours(48))
            .build(),
        bean.settings().tasks.limits());
    assertEquals(List.of("https_proxy", "HADOOP_*"), bean.settings().tasks.environment());
    assertEquals(0, bean.settings().tasks.warmProcesses);
  }

  @Test
  public void tasksHaveALowerPriorityThanTheirNodeUnlessItIsSetToZero() {
    assertEquals(10, startRequest().getNice());
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
    assertReadRate(true, 0);
    bean.setReadRate("200MB");
    assertReadRate(true, 200_000_000);
    bean.setReadRate("unlimited");
    assertReadRate(false, 0);
    bean.setReadRate("adaptive");
    assertReadRate(true, 0);
  }

  private void assertReadRate(boolean yields, long bytes) {
    assertEquals(yields, bean.settings().readRate.yields);
    assertEquals(bytes, bean.settings().readRate.bytes);
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
  public void invalidPropertiesAreRejectedByName() {
    assertRejected("storageName", () -> bean.setStorageName(""));
    assertRejected("storageBackups", () -> bean.setStorageBackups(-1));
    assertRejected("storageBlockKilobytes", () -> bean.setStorageBlockKilobytes(3));
    assertRejected("storageBlockKilobytes", () -> bean.setStorageBlockKilobytes(4097));
    assertRejected("storageWriterTimeoutSeconds", () -> bean.setStorageWriterTimeoutSeconds(0));
    for (String rate : Arrays.asList("-5MB", "0rows", "fast", null)) {
      assertRejected("readRate", () -> bean.setReadRate(rate));
    }
    assertRejected("taskMemoryMegabytes", () -> bean.setTaskMemoryMegabytes(-1));
    assertRejected("taskProcesses", () -> bean.setTaskProcesses(-1));
    assertRejected("taskOpenFiles", () -> bean.setTaskOpenFiles(-1));
    assertRejected("taskCpuHours", () -> bean.setTaskCpuHours(Double.NaN));
    assertRejected("taskTimeLimitHours", () -> bean.setTaskTimeLimitHours(-0.1));
    assertRejected("taskEnvironment", () -> bean.setTaskEnvironment("PATH=/bin"));
    assertRejected("taskEnvironment", () -> bean.setTaskEnvironment("*"));
    for (int wrong : new int[] {-1, 17}) {
      assertRejected("warmProcesses", () -> bean.setWarmProcesses(wrong));
    }
    for (int wrong : new int[] {-1, 20}) {
      assertRejected("taskNice", () -> bean.setTaskNice(wrong));
    }
    for (int wrong : new int[] {0, 10_001}) {
      assertRejected("maxTasks", () -> bean.setMaxTasks(wrong));
    }
    assertRejected("taskQuotas", () -> bean.setTaskQuotas(Map.of("alice", 0)));
    assertRejected("taskQuotas", () -> bean.setTaskQuotas(Map.of("", 1)));
    assertRejected("taskQuotas", () -> bean.setTaskQuotas(Map.of("*", 1_000_001)));
    assertRejected("tls", () -> bean.setTls("on"));
    assertRejected("clientCertificates", () -> bean.setClientCertificates("optional"));
    assertRejected("authentication", () -> bean.setAuthentication("maybe"));
    assertRejected("authentication", () -> bean.setAuthentication("NONE"));
    assertRejected("tokens", () -> bean.setTokens(Map.of("etl", "secret")));
    assertRejected("access", () -> bean.setAccess(List.of("etl raed x")));
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
  }

  @Test
  public void propertiesOfSecurityReachTheSettings() {
    String digest = "0".repeat(64);
    bean.setAuthentication("required");
    bean.setTokens(Map.of("etl", digest));
    bean.setAccess(List.of("etl read raw_*", "root all"));
    bean.setAllowUnauthenticated(true);
    SecuritySettings settings = bean.settings().security;
    assertEquals(SecuritySettings.Mode.REQUIRED, settings.mode());
    assertEquals(Map.of("etl", digest), settings.tokens());
    assertEquals(List.of("etl read raw_*", "root all"), settings.access());
    assertTrue(settings.allowsUnauthenticated());
  }

  private static void assertRejected(String property, ThrowingRunnable call) {
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
    assertTrue(error.getMessage(), error.getMessage().startsWith("TensorFlowService." + property));
  }
}
