package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.bearer;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.hash.Hashing;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.LoopbackServer;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.api.BlockMemoryService;
import io.tensorflowignite.api.DataEndpoint;
import io.tensorflowignite.api.FileService;
import io.tensorflowignite.api.JobChangeBus;
import io.tensorflowignite.api.MetricsApiService;
import io.tensorflowignite.api.ModelService;
import io.tensorflowignite.api.ModelStatusService;
import io.tensorflowignite.api.NodeApiService;
import io.tensorflowignite.api.PredictionService;
import io.tensorflowignite.api.ServedFiles;
import io.tensorflowignite.api.ServedReferences;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.data.change.ChangeFeeds;
import io.tensorflowignite.data.flight.NodeDirectory;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.job.JobAdmission;
import io.tensorflowignite.job.JobFileStore;
import io.tensorflowignite.job.JobRemoval;
import io.tensorflowignite.job.ObservedJobs;
import io.tensorflowignite.job.OutputNews;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.predict.ModelProcesses;
import io.tensorflowignite.predict.ModelRunner;
import io.tensorflowignite.predict.Predictor;
import io.tensorflowignite.rpc.ApiServer;
import io.tensorflowignite.security.decide.AccessRules;
import io.tensorflowignite.security.decide.AuthenticationPolicy;
import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.settings.SecuritySettings;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LossTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.CacheLoss;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.StartModelRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;

/** A node whose services all require tokens and have rules. */
final class SecuredNode implements AutoCloseable {
  private static final Map<String, String> TOKENS =
      ImmutableMap.<String, String>builder()
          .put("alice", "alices-secret")
          .put("etl", "secret-of-etl")
          .put("nobody", "secret")
          .put("lister", "secret-of-lister")
          .put("watcher", "secret-of-watcher")
          .put("root", "roots")
          .build();

  final JobTable jobs;
  final List<ServerServiceDefinition> services = new ArrayList<>();

  private final Ignite node;
  private final Storage storage;
  private final DataEndpoint data;
  private final ChangeFeeds feeds;
  private final JobIndex index;
  private final ObservedJobs observed;
  private final OutputNews news;
  private final ModelRunner models;
  private final Predictor predictor;
  private final ApiServer server;

  /**
   * @param present rows that the job table has at the start
   */
  SecuredNode(Path work, Job... present) throws IOException {
    node = Ignition.start(new LoopbackNodes(1).configuration("security", work));
    for (String cache : ImmutableList.of("images", "labels", "salaries")) {
      node.<Integer, Integer>getOrCreateCache(cache).put(1, 1);
    }
    storage =
        new Storage(
            node, new StorageSettings("tensorflow-ignite", 0, null, 4096, Duration.ofMinutes(2)));
    jobs = new JobTable(node);
    for (Job job : present) {
      jobs.insert(job);
    }
    NodeTable nodes = new NodeTable(node);
    nodes.put(Node.newBuilder().setId(node.cluster().localNode().id().toString()).build());
    JobFileStore files = new JobFileStore(storage);
    SecuritySettings settings = new SecuritySettings();
    settings.tokens(
        TOKENS.entrySet().stream()
            .collect(Collectors.toMap(Map.Entry::getKey, entry -> sha256(entry.getValue()))));
    settings.access(
        ImmutableList.of(
            "alice submit",
            "alice read images",
            "alice predict digits*",
            "alice files /models/alice/*",
            "etl read,write raw_*",
            "etl files /models/etl/*",
            "nobody read nothing",
            "lister submit",
            "lister read images",
            "lister files /",
            "lister files /listed",
            "lister files /listed-file",
            "watcher watch",
            "watcher read images",
            "root all"));
    IgniteSecurityAccess users = new IgniteSecurityAccess(node);
    Authentication authentication =
        new Authentication(
            AuthenticationPolicy.of(settings, users.knowsUsers(), false),
            settings,
            users,
            new TaskTokens(jobs),
            peer -> true,
            node.log());
    Guard guard =
        Guard.of(
            AccessRules.of(settings.access()),
            cache -> SystemCache.isSystem(node, cache),
            "tensorflow-ignite-files");
    CacheLosses losses = new CacheLosses(node);
    feeds = ChangeFeeds.open(node);
    data =
        new DataEndpoint(
            node,
            directory(),
            losses,
            feeds,
            BatchLimits.DEFAULT,
            ReadRate.ADAPTIVE,
            guard,
            TcpPort.open("127.0.0.1", 0, 0, Loops.of(node), node.log()));
    index = JobIndex.open(node, id -> {});
    observed = new ObservedJobs(node, "none");
    news = OutputNews.open(node);
    List<BindableService> all = new ArrayList<>(data.services());
    all.add(
        new NodeApiService(
            node,
            new TensorFlowService().settings(),
            jobs,
            index,
            observed,
            new JobAdmission(node, new TensorFlowService().settings(), jobs, nodes, losses),
            nodes,
            new JobChangeBus(),
            news,
            new JobRemoval(node, jobs, files),
            files,
            losses,
            guard,
            false));
    all.add(BlockMemoryService.of(storage.memories(), guard));
    NodeMetrics metrics = new NodeMetrics();
    models =
        new ModelRunner(
            node,
            nodes,
            storage,
            new NoModelProcesses(),
            work,
            List.of(),
            0,
            metrics,
            Loops.of(node));
    all.add(
        new FileService(node, storage, nodes, guard, new ServedFiles(models.deployments(), guard)));
    predictor = new Predictor(node, "none", models);
    all.add(new ModelService(models, predictor, storage, guard));
    ServedReferences references = new ServedReferences(storage);
    all.add(new PredictionService(predictor, references, guard));
    all.add(new ModelStatusService(models, references, guard));
    all.add(new MetricsApiService(metrics, guard));
    for (BindableService service : all) {
      services.add(service.bindService());
    }
    server = LoopbackServer.start(node.log(), Collections.singletonList(authentication), all);
  }

  /** The cache has lost its first partition. */
  void lose(String cache) {
    new LossTable(node)
        .add(
            CacheLoss.newBuilder()
                .setCache(cache)
                .setDeploymentId(CacheDescriptor.of(node, cache).orElseThrow().deploymentId())
                .addPartitions(0)
                .build());
  }

  String address() {
    return "127.0.0.1:" + server.port();
  }

  /** The credentials of a principal. */
  static String as(String name) {
    return bearer(TOKENS.get(name));
  }

  static String sha256(String text) {
    return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString();
  }

  @Override
  public void close() {
    server.close();
    data.close();
    feeds.close();
    news.close();
    observed.close();
    predictor.close();
    models.close();
    index.close();
    storage.close();
    node.close();
  }

  private static final class NoModelProcesses implements ModelProcesses {
    @Override
    public boolean isReady() {
      return false;
    }

    @Override
    public boolean start(StartModelRequest request) {
      return false;
    }

    @Override
    public void restart(ModelKey key, String reason) {}

    @Override
    public void stop(ModelKey key) {}
  }

  private NodeDirectory directory() {
    UUID local = node.cluster().localNode().id();
    return new NodeDirectory() {
      @Override
      public Optional<String> address(UUID nodeId) {
        return Optional.of("127.0.0.1:1");
      }

      @Override
      public UUID localNode() {
        return local;
      }

      @Override
      public boolean encrypted() {
        return false;
      }
    };
  }
}
