package io.tensorflowignite;

import io.tensorflowignite.agent.TaskSettings;
import io.tensorflowignite.security.SecuritySettings;
import io.tensorflowignite.security.tls.TlsSettings;
import io.tensorflowignite.storage.StorageSettings;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;

/**
 * The service that a node's configuration names to make the node train TensorFlow models beside its
 * data. Deploy it once on each server node:
 *
 * <pre>{@code
 * ServiceConfiguration service = new ServiceConfiguration();
 * service.setName(TensorFlowService.NAME);
 * service.setMaxPerNodeCount(1);
 * service.setService(new TensorFlowService());
 * igniteConfiguration.setServiceConfiguration(service);
 * }</pre>
 *
 * <p>Its properties hold for the whole cluster: Ignite takes them from the first node that has
 * them. What differs by node (interpreter, address, port, work directory, certificate) comes from
 * system properties {@code tensorflow.ignite.*} or environment variables {@code
 * TENSORFLOW_IGNITE_*}.
 */
public final class TensorFlowService implements Service {
  /** The name to deploy it under. */
  public static final String NAME = "tensorflow-ignite";

  private static final long serialVersionUID = 1L;
  private static final long MEGABYTE = 1L << 20;
  private static final double SECONDS_PER_HOUR = 3600;
  private static final int KILOBYTE = 1 << 10;
  private static final int MIN_BLOCK_KILOBYTES = 4;
  private static final int MAX_BLOCK_KILOBYTES = 4096;
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*\\*?");
  private static final int MAX_BATCH_MEGABYTES = 2047;

  private double startTimeoutSeconds = 120;
  private double stopGraceSeconds = 5;
  private double leaseTimeoutSeconds = 6;
  private double waitTimeoutSeconds = 600;
  private double quietTimeSeconds = 5;
  private double healthyTimeSeconds = 300;
  private int logLimitMegabytes = 64;
  private int codeLimitMegabytes = 256;
  private double jobRetentionHours = 168;
  private String storageName = NAME;
  private int storageBackups = 1;
  private String storageDataRegion;
  private int storageBlockKilobytes = 2048;
  private double storageWriterTimeoutSeconds = 120;
  private TlsSettings.Mode tls = TlsSettings.Mode.AUTO;
  private boolean clientCertificates;
  private int maxBatchMegabytes = (int) (BatchLimits.DEFAULT.batch() / MEGABYTE);
  private int batchMemoryMegabytes = (int) (BatchLimits.DEFAULT.together() / MEGABYTE);
  private long taskMemoryMegabytes;
  private int taskProcesses;
  private int taskOpenFiles;
  private double taskCpuHours;
  private double taskTimeLimitHours;
  private String[] taskEnvironment = {};

  private final SecuritySettings security = new SecuritySettings();

  @IgniteInstanceResource private transient Ignite ignite;

  private transient NodeRuntime runtime;

  /** Seconds from the placement of an attempt until every task must run. */
  public void setStartTimeoutSeconds(double seconds) {
    startTimeoutSeconds = positive("startTimeoutSeconds", seconds);
  }

  /** Seconds between SIGTERM and SIGKILL when tasks are stopped. */
  public void setStopGraceSeconds(double seconds) {
    stopGraceSeconds = seconds == 0 ? 0 : positive("stopGraceSeconds", seconds);
  }

  /**
   * Seconds without a heartbeat from its node after which an agent kills its tasks; keep it below
   * Ignite's failureDetectionTimeout (10 s).
   */
  public void setLeaseTimeoutSeconds(double seconds) {
    leaseTimeoutSeconds = positive("leaseTimeoutSeconds", seconds);
  }

  /** Seconds that a job waits for an assignment that it can start with. */
  public void setWaitTimeoutSeconds(double seconds) {
    waitTimeoutSeconds = positive("waitTimeoutSeconds", seconds);
  }

  /** Seconds that primary partitions must stay where they are before running tasks follow them. */
  public void setQuietTimeSeconds(double seconds) {
    quietTimeSeconds = positive("quietTimeSeconds", seconds);
  }

  /** Seconds without a crash after which a job's crashes are counted anew. */
  public void setHealthyTimeSeconds(double seconds) {
    healthyTimeSeconds = positive("healthyTimeSeconds", seconds);
  }

  /** Output of one task that is kept, in MiB. */
  public void setLogLimitMegabytes(int megabytes) {
    logLimitMegabytes = (int) positive("logLimitMegabytes", megabytes);
  }

  /** The largest code archive, in MiB. */
  public void setCodeLimitMegabytes(int megabytes) {
    codeLimitMegabytes = (int) positive("codeLimitMegabytes", megabytes);
  }

  /** The store of files has two caches: this name with -files and -blocks behind it. */
  public void setStorageName(String name) {
    if (name == null || name.isEmpty()) {
      throw invalid("storageName", "'" + name + "'", "It must not be empty");
    }
    storageName = name;
  }

  /**
   * Copies of each block of a file, besides the first; 0: a node that is lost takes files along.
   */
  public void setStorageBackups(int backups) {
    if (backups < 0) {
      throw invalid("storageBackups", backups, "It must be 0 or more");
    }
    storageBackups = backups;
  }

  /** The data region of the store's caches, which every node has; null: the default one. */
  public void setStorageDataRegion(String region) {
    storageDataRegion = region;
  }

  /** The size of a block, unless its writer says otherwise, in KiB: 4 to 4,096. */
  public void setStorageBlockKilobytes(int kilobytes) {
    if (kilobytes < MIN_BLOCK_KILOBYTES || kilobytes > MAX_BLOCK_KILOBYTES) {
      throw invalid("storageBlockKilobytes", kilobytes, "It must be from 4 to 4,096");
    }
    storageBlockKilobytes = kilobytes;
  }

  /** Seconds without a sign of life after which a writer is dead and its blocks are removed. */
  public void setStorageWriterTimeoutSeconds(double seconds) {
    storageWriterTimeoutSeconds = positive("storageWriterTimeoutSeconds", seconds);
  }

  /** The largest record batch that a node takes of a load, in MiB: 1 to 2,047. */
  public void setMaxBatchMegabytes(int megabytes) {
    if (megabytes < 1 || megabytes > MAX_BATCH_MEGABYTES) {
      throw invalid("maxBatchMegabytes", megabytes, "It must be from 1 to 2,047");
    }
    maxBatchMegabytes = megabytes;
  }

  /** Memory of all record batches that a node reads and loads at once, in MiB. */
  public void setBatchMemoryMegabytes(int megabytes) {
    batchMemoryMegabytes = (int) positive("batchMemoryMegabytes", megabytes);
  }

  /**
   * Hours that a job which is over is kept, with its checkpoints, output and code; 0: until
   * somebody removes it, since of the two things that 0 could mean this one loses nothing.
   */
  public void setJobRetentionHours(double hours) {
    jobRetentionHours = hours == 0 ? 0 : positive("jobRetentionHours", hours);
  }

  /**
   * Whether callers are asked who they are: auto (the default: when Ignite's authentication, a
   * security plugin or tokens can judge what they say), required, or none.
   */
  public void setAuthentication(String mode) {
    security.mode(mode);
  }

  /**
   * Tokens, as another way than a user and a password: by the name of who has one, the SHA-256 of
   * the token in lower-case hexadecimal. A token is 32 random bytes in base64url, such as {@code
   * python -c "import secrets; print(secrets.token_urlsafe(32))"} prints.
   */
  public void setTokens(Map<String, String> digests) {
    security.tokens(digests);
  }

  /**
   * Who may do what, as rules {@code PRINCIPAL PERMISSIONS [PATTERN]}: {@code alice
   * submit,watch,stop}, {@code alice read images*}, {@code * files /models/*}, {@code root all}.
   * Permissions are submit, watch, stop, read and write (of caches), files and files-read (of
   * paths), and all; * is everybody who has said who he is. In a pattern, * is any text and ? one
   * character; /dir/* is the directory too. Without rules everybody who has said so may do
   * everything. Who has submitted a job may watch and stop it.
   */
  public void setAccess(List<String> rules) {
    security.access(rules);
  }

  /**
   * Whether nodes may be reached from other hosts although nobody is asked who he is: everybody who
   * reaches them can then run code.
   */
  public void setAllowUnauthenticated(boolean allowed) {
    security.allowUnauthenticated(allowed);
  }

  /**
   * Memory of one task, in MiB, for each of its processes and for all together; 0: no limit.
   * TensorFlow alone needs about 1,000.
   */
  public void setTaskMemoryMegabytes(long megabytes) {
    taskMemoryMegabytes = (long) unlessZero("taskMemoryMegabytes", megabytes);
  }

  /** Processes that one task may have at a time; 0: no limit. */
  public void setTaskProcesses(int processes) {
    taskProcesses = (int) unlessZero("taskProcesses", processes);
  }

  /** Files that each process of a task may have open; 0: no limit but that of the node. */
  public void setTaskOpenFiles(int files) {
    taskOpenFiles = (int) unlessZero("taskOpenFiles", files);
  }

  /** Hours of processor time for each process of a task; 0: no limit. */
  public void setTaskCpuHours(double hours) {
    taskCpuHours = unlessZero("taskCpuHours", hours);
  }

  /** Hours from a task's start to its end; 0: no limit. */
  public void setTaskTimeLimitHours(double hours) {
    taskTimeLimitHours = unlessZero("taskTimeLimitHours", hours);
  }

  /**
   * Variables of a node's environment that its tasks inherit besides the usual ones: names, or
   * beginnings of names with '*' behind them.
   */
  public void setTaskEnvironment(String... names) {
    for (String name : names) {
      if (!VARIABLE.matcher(name).matches()) {
        throw invalid(
            "taskEnvironment",
            "'" + name + "'",
            "It must be a variable's name, or the beginning of names and '*'");
      }
    }
    taskEnvironment = names.clone();
  }

  /**
   * Whether connections to the nodes' servers are encrypted: "auto" where a node has a certificate
   * (system properties tensorflow.ignite.tls.certificate and tensorflow.ignite.tls.key, or
   * IgniteConfiguration.sslContextFactory); "required": a node without one does not start its
   * service; "off".
   */
  public void setTls(String mode) {
    for (TlsSettings.Mode known : TlsSettings.Mode.values()) {
      if (known.name().toLowerCase(Locale.ROOT).equals(mode)) {
        tls = known;
        return;
      }
    }
    throw invalid("tls", "'" + mode + "'", "It must be 'auto', 'required' or 'off'");
  }

  /**
   * "required": a caller shows a certificate that an authority of the node has signed (mutual TLS),
   * unless it is a task of this cluster; "none": nobody is asked for one.
   */
  public void setClientCertificates(String which) {
    if (!"none".equals(which) && !"required".equals(which)) {
      throw invalid("clientCertificates", "'" + which + "'", "It must be 'none' or 'required'");
    }
    clientCertificates = which.equals("required");
  }

  /**
   * host:port of this node's API; null while the node is not ready yet, or could not become ready.
   */
  public String address() {
    NodeRuntime started = runtime;
    return started == null ? null : started.address();
  }

  /** Why this node does not become ready; null when it does. */
  public String failure() {
    NodeRuntime started = runtime;
    return started == null ? null : started.failure();
  }

  /** Ignite deploys on one thread: this one only starts another. */
  @Override
  public void init() {
    runtime = new NodeRuntime(ignite, settings());
    runtime.start();
  }

  @Override
  public void cancel() {
    NodeRuntime started = runtime;
    if (started != null) {
      started.close();
    }
  }

  /** The properties as the parts of the service take them. */
  public ClusterSettings settings() {
    return new ClusterSettings(
        seconds(startTimeoutSeconds),
        seconds(stopGraceSeconds),
        seconds(leaseTimeoutSeconds),
        seconds(waitTimeoutSeconds),
        seconds(quietTimeSeconds),
        seconds(healthyTimeSeconds),
        logLimitMegabytes * MEGABYTE,
        codeLimitMegabytes * MEGABYTE,
        seconds(jobRetentionHours * SECONDS_PER_HOUR),
        new StorageSettings(
            storageName,
            storageBackups,
            storageDataRegion,
            storageBlockKilobytes * KILOBYTE,
            seconds(storageWriterTimeoutSeconds)),
        new BatchLimits(maxBatchMegabytes * MEGABYTE, batchMemoryMegabytes * MEGABYTE),
        new SecuritySettings(security),
        new TaskSettings(
            taskMemoryMegabytes * MEGABYTE,
            taskProcesses,
            taskOpenFiles,
            seconds(taskCpuHours * SECONDS_PER_HOUR),
            seconds(taskTimeLimitHours * SECONDS_PER_HOUR),
            Arrays.asList(taskEnvironment)),
        new TlsSettings(tls, clientCertificates));
  }

  private static Duration seconds(double seconds) {
    return Duration.ofMillis(Math.round(seconds * 1000));
  }

  private static double positive(String property, double value) {
    if (!(value > 0)) {
      throw invalid(property, value, "It must be above 0");
    }
    return value;
  }

  private static double unlessZero(String property, double value) {
    if (!(value >= 0)) {
      throw invalid(property, value, "It must be 0, for no limit, or above");
    }
    return value;
  }

  private static IllegalArgumentException invalid(String property, Object value, String rule) {
    return new IllegalArgumentException(
        String.format(
            "TensorFlowService.%s is %s. %s. Correct it in the configuration.",
            property, value, rule));
  }
}
