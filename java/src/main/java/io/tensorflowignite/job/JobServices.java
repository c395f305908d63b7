package io.tensorflowignite.job;

import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.RateLimitedLog;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteServices;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.services.ServiceDescriptor;

/**
 * The singletons of jobs in Ignite. A thread that is never joined deploys and cancels them: Ignite
 * holds a lock, which both calls take, while it stops a node and waits for the node's services to
 * end. So the end of a service must not wait for a deployment or a cancellation.
 */
public final class JobServices implements AutoCloseable {
  private final Ignite ignite;
  private final RateLimitedLog log;
  private final ExecutorService caller =
      Executors.newSingleThreadExecutor(IdleThreads.daemons("tensorflow-ignite-job-services"));
  private final Set<String> pending = ConcurrentHashMap.newKeySet();

  public JobServices(Ignite ignite) {
    this.ignite = ignite;
    this.log = new RateLimitedLog(ignite.log().getLogger(JobServices.class));
  }

  /** The services of jobs that Ignite lists, running or lost, by name. */
  Map<String, ServiceDescriptor> deployed() {
    Collection<ServiceDescriptor> all = ignite.services().serviceDescriptors();
    return all.stream()
        .filter(service -> service.name().startsWith(JobService.NAME_PREFIX))
        .collect(Collectors.toMap(ServiceDescriptor::name, service -> service, (a, b) -> a));
  }

  /** Whether Ignite has not completed the last call for a service. */
  boolean isPending(String name) {
    return pending.contains(name);
  }

  void deploy(ServiceConfiguration service) {
    submit(service.getName(), services -> services.deployAsync(service));
  }

  void cancel(String name) {
    submit(name, services -> services.cancelAsync(name));
  }

  /** Does not wait for pending calls. */
  @Override
  public void close() {
    caller.shutdownNow();
  }

  private void submit(String name, Function<IgniteServices, IgniteFuture<Void>> call) {
    pending.add(name);
    try {
      caller.execute(() -> call(name, call));
    } catch (RejectedExecutionException closed) {
      pending.remove(name);
    }
  }

  private void call(String name, Function<IgniteServices, IgniteFuture<Void>> call) {
    try {
      call.apply(ignite.services()).listen(done -> pending.remove(name));
    } catch (Throwable failure) {
      // The reconciler calls again, since the service is not pending any more.
      pending.remove(name);
      log.error("A job's service could not be deployed or cancelled [name=" + name + "]", failure);
    }
  }
}
