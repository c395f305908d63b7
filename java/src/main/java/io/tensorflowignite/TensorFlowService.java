package io.tensorflowignite;

import io.tensorflowignite.job.JobView;
import io.tensorflowignite.lease.NodeContact;
import io.tensorflowignite.node.NodeRuntime;
import io.tensorflowignite.predict.NodePredictions;
import io.tensorflowignite.settings.ClusterSettings;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.resources.ServiceContextResource;
import org.apache.ignite.services.Service;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.services.ServiceContext;

/**
 * The service with which a node trains TensorFlow models beside its data. Deploy it once on each
 * server node:
 *
 * <pre>{@code
 * ServiceConfiguration service = new ServiceConfiguration();
 * service.setName(TensorFlowService.NAME);
 * service.setMaxPerNodeCount(1);
 * TensorFlowService tensorFlow = new TensorFlowService();
 * tensorFlow.getStorage().setBackups(2);
 * service.setService(tensorFlow);
 * igniteConfiguration.setServiceConfiguration(service);
 * }</pre>
 *
 * <p>Each node takes the properties of its own configuration, but these are the same on all nodes,
 * and Ignite takes them from the first one: the lease, {@code storage}, {@code sqlFunctions}, and
 * {@code security} except tokens and rules. Settings that only one node has (interpreter, address,
 * port, work directory, certificate) are system properties {@code tensorflow.ignite.*} or
 * environment variables {@code TENSORFLOW_IGNITE_*}.
 */
public final class TensorFlowService
    implements Service, NodeContact, JobView, NodePredictions, TensorFlowModels, TensorFlowJobs {
  /** The name under which the service is deployed. */
  public static final String NAME = "tensorflow-ignite";

  private static final long serialVersionUID = 1L;

  private TimeoutConfiguration timeouts = new TimeoutConfiguration();
  private TaskConfiguration tasks = new TaskConfiguration();
  private JobConfiguration jobs = new JobConfiguration();
  private RowConfiguration rows = new RowConfiguration();
  private StorageConfiguration storage = new StorageConfiguration();
  private SecurityConfiguration security = new SecurityConfiguration();
  private boolean sqlFunctions;

  @IgniteInstanceResource private transient Ignite ignite;
  @ServiceContextResource private transient ServiceContext context;

  private transient NodeRuntime runtime;

  /** How long the nodes wait, for jobs that set nothing else. */
  public void setTimeouts(TimeoutConfiguration timeouts) {
    this.timeouts = PropertyRules.present("timeouts", timeouts);
  }

  public TimeoutConfiguration getTimeouts() {
    return timeouts;
  }

  /** Limits and priority of tasks, and what they inherit. */
  public void setTasks(TaskConfiguration tasks) {
    this.tasks = PropertyRules.present("tasks", tasks);
  }

  public TaskConfiguration getTasks() {
    return tasks;
  }

  /** How many jobs there are, and how much of each is kept. */
  public void setJobs(JobConfiguration jobs) {
    this.jobs = PropertyRules.present("jobs", jobs);
  }

  public JobConfiguration getJobs() {
    return jobs;
  }

  /** Reading and loading of rows. */
  public void setRows(RowConfiguration rows) {
    this.rows = PropertyRules.present("rows", rows);
  }

  public RowConfiguration getRows() {
    return rows;
  }

  /** The files of the cluster. */
  public void setStorage(StorageConfiguration storage) {
    this.storage = PropertyRules.present("storage", storage);
  }

  public StorageConfiguration getStorage() {
    return storage;
  }

  /** Who may call the nodes, and how connections are protected. */
  public void setSecurity(SecurityConfiguration security) {
    this.security = PropertyRules.present("security", security);
  }

  public SecurityConfiguration getSecurity() {
    return security;
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
    ServiceConfiguration own = configured(ignite.configuration());
    if (own != null) {
      TensorFlowService bean = (TensorFlowService) own.getService();
      takeOwn(bean);
      warnOfOtherProperties(bean, log);
    }
    runtime = new NodeRuntime(ignite, context.name(), log, settings(), nodeFilter());
    runtime.start();
  }

  /** Takes the properties that nodes may have different values of. */
  void takeOwn(TensorFlowService own) {
    timeouts.takeAllButLease(own.timeouts);
    tasks = own.tasks;
    jobs = own.jobs;
    rows = own.rows;
    security.takeCallers(own.security);
  }

  /** Ignite itself only says that the service exists already. */
  private void warnOfOtherProperties(TensorFlowService own, IgniteLogger log) {
    List<String> others = PropertyDifferences.of(own, this);
    if (!others.isEmpty()) {
      log.warning(
          "This node has other values than the cluster in these groups of properties of"
              + " TensorFlowService, and uses the values of the cluster: "
              + String.join(", ", others)
              + ". timeouts.leaseSeconds, storage, sqlFunctions, and security except tokens and"
              + " access must be the same on all nodes: the first node of the cluster decides. Give"
              + " this node the values of the cluster. To change the cluster's values, stop all"
              + " nodes at the same time.");
    }
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
  public String submit(Map<String, ?> files, Map<String, ?> options) {
    return runtime.jobs(plain -> plain.submit(files, options));
  }

  @Override
  public String submit(Map<String, ?> files, Map<String, ?> options, String requestId) {
    return runtime.jobs(plain -> plain.submit(files, options, requestId));
  }

  @Override
  public Map<String, Object> describe(String job) {
    return runtime.jobs(plain -> plain.describe(job));
  }

  @Override
  public List<Map<String, Object>> list(int limit) {
    return runtime.jobs(plain -> plain.list(limit));
  }

  @Override
  public String state(String job) {
    return runtime.jobs(plain -> plain.state(job));
  }

  @Override
  public String stop(String job) {
    return stop(job, false, false);
  }

  @Override
  public String stop(String job, boolean save, boolean force) {
    return runtime.jobs(plain -> plain.stop(job, save, force));
  }

  @Override
  public Map<String, Object> output(String job, String task, String position) {
    return runtime.jobs(plain -> plain.output(job, task, position, MAX_OUTPUT_BYTES));
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
    ServiceConfiguration service = configured(ignite.configuration());
    return service == null ? null : service.getNodeFilter();
  }

  /** The deployment of this class in the configuration of a node; null: it has none. */
  public static ServiceConfiguration configured(IgniteConfiguration configuration) {
    ServiceConfiguration[] services = configuration.getServiceConfiguration();
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
        timeouts.start,
        timeouts.firstStep,
        timeouts.stall,
        timeouts.stopGrace,
        timeouts.lease,
        timeouts.waiting,
        timeouts.quiet,
        timeouts.healthy,
        jobs.logBytes(),
        jobs.codeBytes(),
        jobs.retention(),
        storage.settings(),
        rows.batches(),
        rows.readRate(),
        security.settings(),
        tasks.settings(),
        jobs.queue(),
        security.tls(),
        sqlFunctions);
  }
}
