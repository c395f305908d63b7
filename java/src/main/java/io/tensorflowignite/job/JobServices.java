package io.tensorflowignite.job;

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
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.IgniteServices;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.services.ServiceDescriptor;

/**
 * The singletons of jobs, as Ignite knows them. They are deployed and cancelled on a thread that
 * nobody waits for: Ignite, when it stops a node, holds a lock that both calls take, and waits for
 * the services there to end. A service that calls it then must not be waited for by its own end.
 */
public final class JobServices implements AutoCloseable {
  private final Ignite ignite;
  private final IgniteLogger log;
  private final ExecutorService caller =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "tensorflow-ignite-job-services");
            thread.setDaemon(true);
            return thread;
          });
  private final Set<String> underWay = ConcurrentHashMap.newKeySet();

  public JobServices(Ignite ignite) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(JobServices.class);
  }

  /** Those that Ignite has been asked for, running or lost, by their names. */
  Map<String, ServiceDescriptor> deployed() {
    Collection<ServiceDescriptor> all = ignite.services().serviceDescriptors();
    return all.stream()
        .filter(service -> service.name().startsWith(JobService.NAME_PREFIX))
        .collect(Collectors.toMap(ServiceDescriptor::name, service -> service, (a, b) -> a));
  }

  /** Whether Ignite is still busy with what it was last asked about a service. */
  boolean isUnderWay(String name) {
    return underWay.contains(name);
  }

  void deploy(ServiceConfiguration service) {
    ask(service.getName(), services -> services.deployAsync(service));
  }

  void cancel(String name) {
    ask(name, services -> services.cancelAsync(name));
  }

  /** Returns at once, whatever is under way. */
  @Override
  public void close() {
    caller.shutdownNow();
  }

  private void ask(String name, Function<IgniteServices, IgniteFuture<Void>> call) {
    underWay.add(name);
    try {
      caller.execute(() -> call(name, call));
    } catch (RejectedExecutionException closed) {
      underWay.remove(name);
    }
  }

  private void call(String name, Function<IgniteServices, IgniteFuture<Void>> call) {
    try {
      call.apply(ignite.services()).listen(done -> underWay.remove(name));
    } catch (IgniteException | IllegalStateException failure) {
      underWay.remove(name);
      log.warning("Ignite does not take what a job's service needs [name=" + name + "]", failure);
    }
  }
}
