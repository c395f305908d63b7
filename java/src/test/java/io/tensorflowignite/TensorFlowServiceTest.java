package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.settings.SecuritySettings;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.settings.TlsSettings;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.TaskLimits;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.DoubleConsumer;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class TensorFlowServiceTest {
  private final TensorFlowService bean = new TensorFlowService();

  @Test
  public void propertiesOfFilesReachTheSettings() {
    assertFiles("tensorflow-ignite", 1, null, 2 << 20, Duration.ofMinutes(2));
    bean.getStorage().setName("models");
    bean.getStorage().setBackups(2);
    bean.getStorage().setDataRegion("large");
    bean.getStorage().setBlockKilobytes(1024);
    bean.getStorage().setWriterTimeoutSeconds(7.5);
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
  public void beansDifferInTheGroupsWhosePropertiesDifferInWhateverOrderTheyWereSet() {
    TensorFlowService other = new TensorFlowService();
    assertEquals(List.of(), PropertyDifferences.of(bean, other));
    String digest = "0123456789abcdef".repeat(4);
    Map<String, String> tokens = new LinkedHashMap<>();
    for (int caller = 0; caller < 40; caller++) {
      tokens.put("caller-" + caller, digest);
    }
    bean.getSecurity().setTokens(tokens);
    assertEquals(List.of("security"), PropertyDifferences.of(bean, other));
    other.getSecurity().setTokens(new TreeMap<>(tokens).descendingMap());
    bean.getTasks().setEnvironment("a", "b");
    other.getTasks().setEnvironment("a", "b");
    assertEquals(List.of(), PropertyDifferences.of(bean, other));
    tokens.remove("caller-7");
    other.getSecurity().setTokens(tokens);
    bean.getJobs().setMaxTasks(3);
    bean.setSqlFunctions(true);
    assertEquals(
        Set.of("jobs", "security", "sqlFunctions"),
        Set.copyOf(PropertyDifferences.of(bean, other)));
  }

  @Test
  public void aNodeTakesItsOwnTokensAndRulesOnlyWhereTheClusterHasSomeToo() {
    SecurityConfiguration cluster = bean.getSecurity();
    SecurityConfiguration own = new SecurityConfiguration();
    Map<String, String> tokens = Map.of("alice", "0123456789abcdef".repeat(4));
    own.setTokens(tokens).setAccess(List.of("alice all"));
    cluster.takeCallers(own);
    assertEquals("the cluster needs no login", Map.of(), cluster.settings().tokens());
    assertEquals(List.of(), cluster.settings().access());

    cluster.setTokens(Map.of("bob", "f".repeat(64))).setAccess(List.of("bob all"));
    cluster.takeCallers(new SecurityConfiguration());
    assertEquals(Map.of("bob", "f".repeat(64)), cluster.settings().tokens());
    assertEquals(List.of("bob all"), cluster.settings().access());

    cluster.takeCallers(own);
    assertEquals(tokens, cluster.settings().tokens());
    assertEquals(List.of("alice all"), cluster.settings().access());
  }

  @Test
  public void aNodeTakesItsOwnPropertiesExceptThoseThatAreTheSameOnAllNodes() {
    TensorFlowService own = new TensorFlowService();
    own.getTimeouts().setStallSeconds(7).setQuietSeconds(8).setLeaseSeconds(9);
    own.getTasks().setWarmProcesses(3);
    own.getJobs().setMaxTasks(4);
    own.getRows().setMaxBatchMegabytes(5);
    own.getStorage().setBackups(2);
    own.getSecurity().setTls("required");
    own.setSqlFunctions(true);
    bean.takeOwn(own);
    ClusterSettings settings = bean.settings();
    assertEquals(Duration.ofSeconds(7), settings.stallTimeout);
    assertEquals(Duration.ofSeconds(8), settings.quietTime);
    assertEquals(3, settings.tasks.warmProcesses);
    assertEquals(4, settings.queue.maxTasks(1));
    assertEquals(5 << 20, settings.batches.batch);

    assertEquals(Duration.ofSeconds(6), settings.leaseTimeout);
    assertEquals(1, settings.storage.backups);
    assertEquals(TlsSettings.Mode.AUTO, settings.tls.mode);
    assertFalse(settings.sqlFunctions);
    assertEquals(
        Set.of("timeouts", "storage", "security", "sqlFunctions"),
        Set.copyOf(PropertyDifferences.of(bean, own)));
  }

  @Test
  public void propertiesOfTasksReachTheSettings() {
    assertEquals(TaskLimits.getDefaultInstance(), bean.settings().tasks.limits());
    assertTrue(bean.settings().tasks.environment().isEmpty());
    assertEquals(1, bean.settings().tasks.warmProcesses);
    bean.getTasks().setMemoryMegabytes(4096);
    bean.getTasks().setProcesses(16);
    bean.getTasks().setOpenFiles(1024);
    bean.getTasks().setCpuHours(0.5);
    bean.getTasks().setTimeLimitHours(48);
    bean.getTasks().setEnvironment("https_proxy", "HADOOP_*");
    bean.getTasks().setWarmProcesses(0);
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
    bean.getTasks().setNice(0);
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
    bean.getRows().setReadRate("200MB");
    assertReadRate(true, 200_000_000);
    bean.getRows().setReadRate("unlimited");
    assertReadRate(false, 0);
    bean.getRows().setReadRate("adaptive");
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
    bean.getJobs().setMaxTasks(3);
    bean.getJobs().setTaskQuotas(Map.of("alice", 12, "*", 6));
    assertEquals(3, bean.settings().queue.maxTasks(4));
    assertEquals(12, bean.settings().queue.quota("alice").getAsInt());
    assertEquals(6, bean.settings().queue.quota("bob").getAsInt());
    assertFalse(bean.settings().queue.quota("").isPresent());
  }

  @Test
  public void invalidPropertiesAreRejectedByName() {
    assertRejected("storage.name", () -> bean.getStorage().setName(""));
    assertRejected("storage.backups", () -> bean.getStorage().setBackups(-1));
    assertRejected("storage.blockKilobytes", () -> bean.getStorage().setBlockKilobytes(3));
    assertRejected("storage.blockKilobytes", () -> bean.getStorage().setBlockKilobytes(4097));
    assertRejected(
        "storage.writerTimeoutSeconds", () -> bean.getStorage().setWriterTimeoutSeconds(0));
    for (String rate : Arrays.asList("-5MB", "0rows", "fast", null)) {
      assertRejected("rows.readRate", () -> bean.getRows().setReadRate(rate));
    }
    for (long wrong : new long[] {-1, Long.MAX_VALUE}) {
      assertRejected("tasks.memoryMegabytes", () -> bean.getTasks().setMemoryMegabytes(wrong));
    }
    assertRejected("tasks.processes", () -> bean.getTasks().setProcesses(-1));
    assertRejected("tasks.openFiles", () -> bean.getTasks().setOpenFiles(-1));
    assertRejected("tasks.cpuHours", () -> bean.getTasks().setCpuHours(Double.NaN));
    assertRejected("tasks.timeLimitHours", () -> bean.getTasks().setTimeLimitHours(-0.1));
    assertRejected("tasks.environment", () -> bean.getTasks().setEnvironment("PATH=/bin"));
    assertRejected("tasks.environment", () -> bean.getTasks().setEnvironment("*"));
    for (int wrong : new int[] {-1, 17}) {
      assertRejected("tasks.warmProcesses", () -> bean.getTasks().setWarmProcesses(wrong));
    }
    for (int wrong : new int[] {-1, 20}) {
      assertRejected("tasks.nice", () -> bean.getTasks().setNice(wrong));
    }
    for (int wrong : new int[] {0, 10_001}) {
      assertRejected("jobs.maxTasks", () -> bean.getJobs().setMaxTasks(wrong));
    }
    assertRejected("jobs.taskQuotas", () -> bean.getJobs().setTaskQuotas(Map.of("alice", 0)));
    assertRejected("jobs.taskQuotas", () -> bean.getJobs().setTaskQuotas(Map.of("", 1)));
    assertRejected("jobs.taskQuotas", () -> bean.getJobs().setTaskQuotas(Map.of("*", 1_000_001)));
    assertRejected("security.tls", () -> bean.getSecurity().setTls("on"));
    assertRejected(
        "security.clientCertificates", () -> bean.getSecurity().setClientCertificates("optional"));
    assertRejected("security.authentication", () -> bean.getSecurity().setAuthentication("maybe"));
    assertRejected("security.authentication", () -> bean.getSecurity().setAuthentication("NONE"));
    assertRejected("security.tokens", () -> bean.getSecurity().setTokens(Map.of("etl", "secret")));
    assertRejected("security.access", () -> bean.getSecurity().setAccess(List.of("etl raed x")));
  }

  @Test
  public void timesAreFromALeastToTenYears() {
    TimeoutConfiguration times = bean.getTimeouts();
    assertTimes("timeouts.startSeconds", times::setStartSeconds, 0);
    assertTimes("timeouts.firstStepSeconds", times::setFirstStepSeconds, -1);
    assertTimes("timeouts.stallSeconds", times::setStallSeconds, -1);
    assertTimes("timeouts.stopGraceSeconds", times::setStopGraceSeconds, -1);
    // Nodes would call each other without a pause, and no task could start in such a lease.
    assertTimes("timeouts.leaseSeconds", times::setLeaseSeconds, 0.0001);
    assertTimes("timeouts.waitSeconds", times::setWaitSeconds, 0);
    assertTimes("timeouts.quietSeconds", times::setQuietSeconds, 0);
    assertTimes("timeouts.healthySeconds", times::setHealthySeconds, 0);
    assertTimes("storage.writerTimeoutSeconds", bean.getStorage()::setWriterTimeoutSeconds, 0.0001);
    assertTimes("jobs.retentionHours", bean.getJobs()::setRetentionHours, -1);
    assertTimes("tasks.cpuHours", bean.getTasks()::setCpuHours, -1);
    assertTimes("tasks.timeLimitHours", bean.getTasks()::setTimeLimitHours, -1);
  }

  /** As a {@link Duration}, infinity overflows when a node starts. */
  private void assertTimes(String property, DoubleConsumer set, double tooShort) {
    for (double wrong : new double[] {tooShort, 1e12, Double.POSITIVE_INFINITY, Double.NaN}) {
      assertRejected(property, () -> set.accept(wrong));
    }
    set.accept(1);
  }

  @Test
  public void theErrorOfANumberHasItsRange() {
    assertEquals(
        "TensorFlowService.timeouts.stopGraceSeconds is -1.0. It must be from 0 to 315,360,000. Set"
            + " timeouts.stopGraceSeconds to such a value in the configuration.",
        assertThrows(
                IllegalArgumentException.class, () -> bean.getTimeouts().setStopGraceSeconds(-1))
            .getMessage());
  }

  @Test
  public void nothingIsNull() {
    assertRejected("timeouts", () -> bean.setTimeouts(null));
    assertRejected("tasks", () -> bean.setTasks(null));
    assertRejected("jobs", () -> bean.setJobs(null));
    assertRejected("rows", () -> bean.setRows(null));
    assertRejected("storage", () -> bean.setStorage(null));
    assertRejected("security", () -> bean.setSecurity(null));
    assertRejected("jobs.taskQuotas", () -> bean.getJobs().setTaskQuotas(null));
    assertRejected("tasks.environment", () -> bean.getTasks().setEnvironment((String[]) null));
    assertRejected("tasks.environment", () -> bean.getTasks().setEnvironment("A", null));
    assertRejected("security.tokens", () -> bean.getSecurity().setTokens(null));
    assertRejected("security.access", () -> bean.getSecurity().setAccess(null));
  }

  @Test
  public void propertiesOfTlsReachTheSettings() {
    assertEquals(TlsSettings.Mode.AUTO, bean.settings().tls.mode);
    assertFalse(bean.settings().tls.clientCertificates);
    bean.getSecurity().setTls("required");
    bean.getSecurity().setClientCertificates("required");
    assertEquals(TlsSettings.Mode.REQUIRED, bean.settings().tls.mode);
    assertTrue(bean.settings().tls.clientCertificates);
    bean.getSecurity().setTls("off");
    bean.getSecurity().setClientCertificates("none");
    assertEquals(TlsSettings.Mode.OFF, bean.settings().tls.mode);
    assertFalse(bean.settings().tls.clientCertificates);
  }

  @Test
  public void propertiesOfSecurityReachTheSettings() {
    String digest = "0".repeat(64);
    bean.getSecurity().setAuthentication("required");
    bean.getSecurity().setTokens(Map.of("etl", digest));
    bean.getSecurity().setAccess(List.of("etl read raw_*", "root all"));
    bean.getSecurity().setAllowUnauthenticated(true);
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
