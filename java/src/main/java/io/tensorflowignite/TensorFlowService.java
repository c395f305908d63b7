package io.tensorflowignite;

import io.tensorflowignite.job.JobView;
import io.tensorflowignite.lease.NodeContact;
import io.tensorflowignite.node.NodeRuntime;
import io.tensorflowignite.predict.NodePredictions;
import io.tensorflowignite.security.decide.AccessRules;
import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.settings.QueueSettings;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.settings.SecuritySettings;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.settings.TaskSettings;
import io.tensorflowignite.settings.TlsSettings;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.resources.ServiceContextResource;
import org.apache.ignite.services.Service;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.services.ServiceContext;

/**
 * Trains TensorFlow models on the nodes of a cluster, beside their data. Deploy this service once
 * on each server node:
 *
 * <pre>{@code
 * ServiceConfiguration service = new ServiceConfiguration();
 * service.setName(TensorFlowService.NAME);
 * service.setMaxPerNodeCount(1);
 * service.setService(new TensorFlowService());
 * igniteConfiguration.setServiceConfiguration(service);
 * }</pre>
 *
 * <p>Its properties hold for the whole cluster: Ignite takes them from the first node that has this
 * service. Settings of one node (interpreter, address, port, work directory, certificate) are
 * system properties {@code tensorflow.ignite.*} or environment variables {@code
 * TENSORFLOW_IGNITE_*}.
 */
public final class TensorFlowService
    implements Service, NodeContact, JobView, NodePredictions, TensorFlowModels {
  /** The name under which the service is deployed. */
  public static final String NAME = "tensorflow-ignite";

  private static final long serialVersionUID = 1L;
  private static final long MEGABYTE = 1L << 20;
  private static final double SECONDS_PER_HOUR = 3600;
  private static final int KILOBYTE = 1 << 10;
  private static final int MIN_BLOCK_KILOBYTES = 4;
  private static final int MAX_BLOCK_KILOBYTES = 4096;
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*\\*?");
  private static final int MAX_BATCH_MEGABYTES = 2047;
  private static final int MAX_QUOTA = 1_000_000;

  private double startTimeoutSeconds = 120;
  private double firstStepTimeoutSeconds = 300;
  private double stallTimeoutSeconds = 600;
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
  private int maxBatchMegabytes = (int) (BatchLimits.DEFAULT.batch / MEGABYTE);
  private int batchMemoryMegabytes = (int) (BatchLimits.DEFAULT.total / MEGABYTE);
  private ReadRate readRate = ReadRate.ADAPTIVE;
  private long taskMemoryMegabytes;
  private int taskProcesses;
  private int taskOpenFiles;
  private double taskCpuHours;
  private double taskTimeLimitHours;
  private String[] taskEnvironment = {};
  private int taskNice = 10;
  private int warmProcesses = 1;
  private int maxTasks;
  private HashMap<String, Integer> taskQuotas = new HashMap<>();
  private boolean sqlFunctions;

  private final SecuritySettings security = new SecuritySettings();

  @IgniteInstanceResource private transient Ignite ignite;
  @ServiceContextResource private transient ServiceContext context;

  private transient NodeRuntime runtime;

  /** Seconds from the placement of an attempt until every task must run: above 0. */
  public void setStartTimeoutSeconds(double seconds) {
    startTimeoutSeconds = positive("startTimeoutSeconds", seconds);
  }

  /** Seconds that a task may neither write output nor work before its first step; 0: no limit. */
  public void setFirstStepTimeoutSeconds(double seconds) {
    firstStepTimeoutSeconds = unlessZero("firstStepTimeoutSeconds", seconds);
  }

  /** Seconds that a task may take for each further step; 0: no limit. */
  public void setStallTimeoutSeconds(double seconds) {
    stallTimeoutSeconds = unlessZero("stallTimeoutSeconds", seconds);
  }

  /** Seconds between SIGTERM and SIGKILL when tasks are stopped: 0 or more. */
  public void setStopGraceSeconds(double seconds) {
    stopGraceSeconds = seconds == 0 ? 0 : positive("stopGraceSeconds", seconds);
  }

  /**
   * Seconds without a heartbeat of its node after which an agent kills its tasks. Keep this below
   * Ignite's failureDetectionTimeout (10 s).
   */
  public void setLeaseTimeoutSeconds(double seconds) {
    leaseTimeoutSeconds = positive("leaseTimeoutSeconds", seconds);
  }

  /** Seconds that a job waits for enough room on the nodes to start. */
  public void setWaitTimeoutSeconds(double seconds) {
    waitTimeoutSeconds = positive("waitTimeoutSeconds", seconds);
  }

  /** Seconds that primary partitions must stay unchanged before running tasks follow them. */
  public void setQuietTimeSeconds(double seconds) {
    quietTimeSeconds = positive("quietTimeSeconds", seconds);
  }

  /** Seconds without a crash after which earlier crashes of a job are no longer counted. */
  public void setHealthyTimeSeconds(double seconds) {
    healthyTimeSeconds = positive("healthyTimeSeconds", seconds);
  }

  /** Limit of the stored output of one job, in MiB. */
  public void setLogLimitMegabytes(int megabytes) {
    logLimitMegabytes = (int) positive("logLimitMegabytes", megabytes);
  }

  /** Limit of a code archive, in MiB. */
  public void setCodeLimitMegabytes(int megabytes) {
    codeLimitMegabytes = (int) positive("codeLimitMegabytes", megabytes);
  }

  /** The prefix of the three caches of files: NAME-files, NAME-blocks and NAME-small. */
  public void setStorageName(String name) {
    if (name == null || name.isEmpty()) {
      throw invalid("storageName", "'" + name + "'", "It must not be empty");
    }
    storageName = name;
  }

  /** Copies of each block of a file besides the primary one; with 0, a lost node loses files. */
  public void setStorageBackups(int backups) {
    if (backups < 0) {
      throw invalid("storageBackups", backups, "It must be 0 or more");
    }
    storageBackups = backups;
  }

  /**
   * The data region of the caches of files, which every server node must have; null: the region
   * tensorflow-ignite if every server node has it, else the default region, as for the other caches
   * of the service.
   */
  public void setStorageDataRegion(String region) {
    storageDataRegion = region;
  }

  /** The default size of a file's blocks, in KiB: 4 to 4,096. */
  public void setStorageBlockKilobytes(int kilobytes) {
    if (kilobytes < MIN_BLOCK_KILOBYTES || kilobytes > MAX_BLOCK_KILOBYTES) {
      throw invalid("storageBlockKilobytes", kilobytes, "It must be from 4 to 4,096");
    }
    storageBlockKilobytes = kilobytes;
  }

  /**
   * Seconds without a sign of life after which a writer is abandoned and its blocks are removed.
   */
  public void setStorageWriterTimeoutSeconds(double seconds) {
    storageWriterTimeoutSeconds = positive("storageWriterTimeoutSeconds", seconds);
  }

  /** The largest record batch of a load that a node accepts, in MiB: 1 to 2,047. */
  public void setMaxBatchMegabytes(int megabytes) {
    if (megabytes < 1 || megabytes > MAX_BATCH_MEGABYTES) {
      throw invalid("maxBatchMegabytes", megabytes, "It must be from 1 to 2,047");
    }
    maxBatchMegabytes = megabytes;
  }

  /** Memory of a node for all record batches that are being read or loaded, in MiB. */
  public void setBatchMemoryMegabytes(int megabytes) {
    batchMemoryMegabytes = (int) positive("batchMemoryMegabytes", megabytes);
  }

  /**
   * How fast each node reads rows for its streams: "adaptive" (the default): as fast as possible,
   * but the application's gets, puts and queries on the node go first; "unlimited"; or the most of
   * all streams of a node together, "200MB" or "50000rows" in a second, which yield as well.
   */
  public void setReadRate(String rate) {
    if ("adaptive".equals(rate)) {
      readRate = ReadRate.ADAPTIVE;
    } else if ("unlimited".equals(rate)) {
      readRate = ReadRate.UNLIMITED;
    } else {
      readRate =
          ReadRate.parse(rate)
              .orElseThrow(
                  () ->
                      invalid(
                          "readRate",
                          "'" + rate + "'",
                          "It must be adaptive, unlimited, " + ReadRate.RULE));
    }
  }

  /**
   * Hours that a finished job is retained with its checkpoints, output and code; 0: until a user
   * removes it.
   */
  public void setJobRetentionHours(double hours) {
    jobRetentionHours = hours == 0 ? 0 : positive("jobRetentionHours", hours);
  }

  /**
   * Whether callers must authenticate: "auto" (the default: if Ignite's authentication, a security
   * plugin or tokens can verify credentials), "required", or "none".
   */
  public void setAuthentication(String mode) {
    security.mode(
        choice("authentication", SecuritySettings.Mode.class, mode, "auto, required or none"));
  }

  /**
   * Tokens, which callers may use instead of user and password: the SHA-256 of each token in
   * lower-case hexadecimal, by the name of the token's owner. A token is 32 random bytes in
   * base64url, as printed by {@code python -c "import secrets; print(secrets.token_urlsafe(32))"}.
   */
  public void setTokens(Map<String, String> digests) {
    security.tokens(digests);
  }

  /**
   * Permissions of callers, as rules {@code PRINCIPAL PERMISSIONS [PATTERN]}: {@code alice
   * submit,watch,stop}, {@code alice read images*}, {@code * files /models/*}, {@code root all}.
   * Permissions are submit, watch, stop, read and write (of caches), files and files-read (of
   * paths), and all. The principal * is every authenticated caller. In a pattern, * matches any
   * text and ? one character; /dir/* includes the directory itself. Without rules, every
   * authenticated caller may do everything. The owner of a job may always watch and stop it.
   */
  public void setAccess(List<String> rules) {
    AccessRules.of(rules);
    security.access(rules);
  }

  /**
   * Whether nodes may serve other hosts without authentication: everybody who can connect to a node
   * can then run code on it.
   */
  public void setAllowUnauthenticated(boolean allowed) {
    security.allowUnauthenticated(allowed);
  }

  /**
   * Limit of a task's memory, in MiB, for each of its processes and for all together; 0: no limit.
   * TensorFlow alone needs about 1,000.
   */
  public void setTaskMemoryMegabytes(long megabytes) {
    taskMemoryMegabytes = (long) unlessZero("taskMemoryMegabytes", megabytes);
  }

  /** Limit of a task's processes at one time; 0: no limit. */
  public void setTaskProcesses(int processes) {
    taskProcesses = (int) unlessZero("taskProcesses", processes);
  }

  /** Limit of open files of each process of a task; 0: the node's own limit. */
  public void setTaskOpenFiles(int files) {
    taskOpenFiles = (int) unlessZero("taskOpenFiles", files);
  }

  /** Limit of processor time of each process of a task, in hours; 0: no limit. */
  public void setTaskCpuHours(double hours) {
    taskCpuHours = unlessZero("taskCpuHours", hours);
  }

  /** Limit of the time from a task's start to its end, in hours; 0: no limit. */
  public void setTaskTimeLimitHours(double hours) {
    taskTimeLimitHours = unlessZero("taskTimeLimitHours", hours);
  }

  /**
   * Variables of a node's environment that its tasks inherit besides the usual ones: names, or
   * prefixes of names followed by '*'.
   */
  public void setTaskEnvironment(String... names) {
    for (String name : names) {
      if (!VARIABLE.matcher(name).matches()) {
        throw invalid(
            "taskEnvironment",
            "'" + name + "'",
            "It must be a variable's name, or a prefix of names followed by '*'");
      }
    }
    taskEnvironment = names.clone();
  }

  /**
   * Priority of the tasks' processes, 0 to 19: it is added to the nice value of their node. Of a
   * processor that the node needs too, a task gets a tenth with 10, and the same share with 0.
   */
  public void setTaskNice(int nice) {
    if (nice < 0 || nice > TaskSettings.MAX_NICE) {
      throw invalid(
          "taskNice",
          nice,
          "It must be from 0, for the priority of the node, to " + TaskSettings.MAX_NICE);
    }
    taskNice = nice;
  }

  /**
   * Processes on each node that have TensorFlow imported and wait for a task, which then starts
   * without the import: 0 to 16; 0: none.
   */
  public void setWarmProcesses(int processes) {
    if (processes < 0 || processes > TaskSettings.MAX_WARM_PROCESSES) {
      throw invalid(
          "warmProcesses",
          processes,
          "It must be from 0, for none, to " + TaskSettings.MAX_WARM_PROCESSES);
    }
    warmProcesses = processes;
  }

  /**
   * Tasks that are admitted on a node at one time, 1 to 10,000; jobs that do not fit wait in the
   * queue. By default two for each processor of the node.
   */
  public void setMaxTasks(int tasks) {
    if (tasks < 1 || tasks > QueueSettings.MAX_TASKS) {
      throw invalid("maxTasks", tasks, "It must be from 1 to 10,000");
    }
    maxTasks = tasks;
  }

  /**
   * Tasks that are admitted for one owner of jobs at one time, by the name of the owner, 1 to
   * 1,000,000; {@code *}: for each owner that is not named. Without a quota an owner may have any
   * number. Quotas need a cluster that authenticates callers.
   */
  public void setTaskQuotas(Map<String, Integer> quotas) {
    quotas.forEach(
        (owner, tasks) -> {
          if (owner == null || owner.isEmpty() || tasks == null || tasks < 1 || tasks > MAX_QUOTA) {
            throw invalid(
                "taskQuotas",
                owner + "=" + tasks,
                "It must map names of owners, or *, to a number from 1 to 1,000,000");
          }
        });
    taskQuotas = new HashMap<>(quotas);
  }

  /**
   * Whether connections to the nodes' servers are encrypted: "auto": if a node has a certificate
   * (system properties tensorflow.ignite.tls.certificate and tensorflow.ignite.tls.key, or
   * IgniteConfiguration.sslContextFactory); "required": a node without one does not start its
   * service; "off".
   */
  public void setTls(String mode) {
    tls = choice("tls", TlsSettings.Mode.class, mode, "'auto', 'required' or 'off'");
  }

  /**
   * "required": a caller must have a certificate that an authority of the node has signed (mutual
   * TLS), unless it is a task of this cluster; "none": callers need no certificate.
   */
  public void setClientCertificates(String mode) {
    if (!"none".equals(mode) && !"required".equals(mode)) {
      throw invalid("clientCertificates", "'" + mode + "'", "It must be 'none' or 'required'");
    }
    clientCertificates = mode.equals("required");
  }

  /**
   * Whether the SQL of Ignite has the functions TF_PREDICT, TF_PREDICT_ARRAY and TF_PREDICT_TEXT in
   * the schema PUBLIC. All server nodes must run the service; otherwise the functions refuse.
   */
  public void setSqlFunctions(boolean enabled) {
    sqlFunctions = enabled;
  }

  /** host:port of this node's API; null while the node is not ready, or after a failure. */
  public String address() {
    NodeRuntime started = runtime;
    return started == null ? null : started.address();
  }

  /** The reason why this node cannot become ready; null without a failure. */
  public String failure() {
    NodeRuntime started = runtime;
    return started == null ? null : started.failure();
  }

  /** Starts a thread and returns, since Ignite deploys all services on one thread. */
  @Override
  public void init() {
    IgniteLogger log = ignite.log().getLogger(TensorFlowService.class);
    runtime = new NodeRuntime(ignite, context.name(), log, settings(), nodeFilter());
    runtime.start();
  }

  @Override
  public void contact(String caller, String[] answered) {
    runtime.contact(caller, answered);
  }

  @Override
  public boolean contactAllBut(String caller, String nodesDigest, String[] silent) {
    return runtime.contactAllBut(caller, nodesDigest, silent);
  }

  @Override
  public byte[][] observe(String[] jobIds, boolean summaries) {
    return runtime.observe(jobIds, summaries);
  }

  @Override
  public Map<String, Object> predict(String model, Map<String, Object> inputs) {
    return predict(model, inputs, DEFAULT_TIMEOUT_MILLIS);
  }

  @Override
  public Map<String, Object> predict(String model, Map<String, Object> inputs, long timeoutMillis) {
    return runtime.predict(predictions -> predictions.predict(model, inputs, timeoutMillis));
  }

  @Override
  public Map<String, Object> predictKeys(String model, String cache, Object[] keys) {
    return predictKeys(model, cache, keys, DEFAULT_TIMEOUT_MILLIS);
  }

  @Override
  public Map<String, Object> predictKeys(
      String model, String cache, Object[] keys, long timeoutMillis) {
    return runtime.predict(
        predictions -> predictions.predictKeys(model, cache, keys, timeoutMillis));
  }

  @Override
  public byte[] predictHere(byte[] request, long timeoutMillis) {
    return runtime.predict(predictions -> predictions.predictHere(request, timeoutMillis));
  }

  @Override
  public byte[] predictRowsHere(
      String model, String signature, String cache, Object[] keys, long timeoutMillis) {
    return runtime.predict(
        predictions -> predictions.predictRowsHere(model, signature, cache, keys, timeoutMillis));
  }

  @Override
  public void cancel() {
    NodeRuntime started = runtime;
    if (started != null) {
      started.close();
    }
  }

  /** The node filter of this service, which the services of jobs get too; null: all nodes. */
  private IgnitePredicate<ClusterNode> nodeFilter() {
    ServiceConfiguration service = configured(ignite);
    return service == null ? null : service.getNodeFilter();
  }

  /** The deployment of this class in the configuration of a node; null: it has none. */
  static ServiceConfiguration configured(Ignite ignite) {
    ServiceConfiguration[] services = ignite.configuration().getServiceConfiguration();
    if (services != null) {
      for (ServiceConfiguration service : services) {
        if (service.getService() instanceof TensorFlowService) {
          return service;
        }
      }
    }
    return null;
  }

  /** The properties as settings of the service's parts. */
  public ClusterSettings settings() {
    return new ClusterSettings(
        seconds(startTimeoutSeconds),
        seconds(firstStepTimeoutSeconds),
        seconds(stallTimeoutSeconds),
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
        readRate,
        new SecuritySettings(security),
        new TaskSettings(
            taskMemoryMegabytes * MEGABYTE,
            taskProcesses,
            taskOpenFiles,
            seconds(taskCpuHours * SECONDS_PER_HOUR),
            seconds(taskTimeLimitHours * SECONDS_PER_HOUR),
            Arrays.asList(taskEnvironment),
            taskNice,
            warmProcesses),
        new QueueSettings(maxTasks, taskQuotas),
        new TlsSettings(tls, clientCertificates),
        sqlFunctions);
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

  private static <E extends Enum<E>> E choice(
      String property, Class<E> type, String name, String names) {
    return Arrays.stream(type.getEnumConstants())
        .filter(known -> known.name().toLowerCase(Locale.ROOT).equals(name))
        .findFirst()
        .orElseThrow(() -> invalid(property, "'" + name + "'", "It must be " + names));
  }

  private static IllegalArgumentException invalid(String property, Object value, String rule) {
    return new IllegalArgumentException(
        String.format(
            "TensorFlowService.%s is %s. %s. Set %1$s to another value in the configuration.",
            property, value, rule));
  }
}
