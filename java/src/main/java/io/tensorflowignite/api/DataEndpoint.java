package io.tensorflowignite.api;

import io.grpc.BindableService;
import io.grpc.ServerInterceptors;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.data.change.ChangeFeeds;
import io.tensorflowignite.data.column.BatchArena;
import io.tensorflowignite.data.flight.DataFlightProducer;
import io.tensorflowignite.data.flight.FlightErrors;
import io.tensorflowignite.data.flight.NodeDirectory;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.schema.SchemaResolver;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.stream.DataErrors;
import io.tensorflowignite.data.stream.RowStreams;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.rpc.ContextExecutor;
import io.tensorflowignite.rpc.LocalHostInterceptor;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.settings.ReadRate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.AllocationListener;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The data endpoint of one node: the gRPC services for Arrow Flight, for memory shared with readers
 * on this host, and for rows over TCP. Their server must accept messages as large as the largest
 * batch of a load, and authenticates callers.
 *
 * <p>Close it after the server, which holds buffers until they are written.
 */
public final class DataEndpoint implements AutoCloseable {
  private static final long CLOSE_SECONDS = 10;

  /** One thread for each stream, and the threads over which loads share their rows. */
  private static final int MAX_THREADS = 3_000;

  /** Ignite keeps for each thread a buffer of the largest object that the thread has written. */
  private static final long THREAD_IDLE_SECONDS = 10;

  private final IgniteLogger log;
  private final BufferAllocator allocator;
  private final BufferAllocator received;
  private final ExecutorService executor;
  private final List<BindableService> services = new ArrayList<>();
  private final Optional<TcpPort> port;
  private final RowStreams streams;

  /**
   * @param ignite the node whose partitions are read
   * @param directory addresses of the other nodes' endpoints
   * @param losses partitions of caches without any copy
   * @param feeds the changes of caches
   * @param limits limits of the memory for batches
   * @param rate how fast rows are read
   * @param guard authorizes each call
   * @param port the port for rows over TCP, which this closes; empty: no rows over TCP
   */
  public DataEndpoint(
      Ignite ignite,
      NodeDirectory directory,
      CacheLosses losses,
      ChangeFeeds feeds,
      BatchLimits limits,
      ReadRate rate,
      Guard guard,
      Optional<TcpPort> port) {
    this.port = port;
    log = ignite.log().getLogger(DataEndpoint.class);
    // Arrow's own policy, powers of two, would take almost twice the memory that a batch needs.
    allocator = new RootAllocator(AllocationListener.NOOP, limits.total, BatchArena::aligned);
    // Flight answers on its own threads, which need the caller's context too.
    executor =
        new ContextExecutor(
            new ThreadPoolExecutor(
                0,
                MAX_THREADS,
                THREAD_IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                IdleThreads.daemons("tensorflow-ignite-data-%d")));
    DataErrors errors = new DataErrors(log);
    SchemaStore store = new SchemaStore(ignite);
    SchemaResolver schemas = new SchemaResolver(ignite, store);
    streams =
        new RowStreams(
            ignite,
            directory.localNode(),
            schemas,
            losses,
            feeds,
            limits.batch,
            () -> limits.total - allocator.getAllocatedMemory(),
            rate);
    DataFlightProducer producer =
        new DataFlightProducer(
            ignite,
            directory,
            store,
            schemas,
            streams,
            allocator,
            executor,
            new FlightErrors(errors),
            guard);
    received = allocator.newChildAllocator("received", single(limits), 0, limits.total);
    SharedMemoryService shared =
        new SharedMemoryService(streams, allocator, executor, errors, guard);
    services.add(producer.service(received));
    services.add(() -> ServerInterceptors.intercept(shared, new LocalHostInterceptor()));
    port.ifPresent(
        open ->
            services.add(new TcpRowsService(open, streams, allocator, executor, errors, guard)));
  }

  /** Arrow allocates memory for the number of values that a batch claims, whatever its bytes. */
  private static AllocationListener single(BatchLimits limits) {
    return new AllocationListener() {
      @Override
      public void onPreAllocation(long size) {
        if (size > limits.batch) {
          throw new OutOfMemoryException(
              String.format(
                  "%,d bytes are needed at once, but a batch has at most %,d", size, limits.batch));
        }
      }
    };
  }

  public List<BindableService> services() {
    return services;
  }

  /** Adds what the endpoint counts to the metrics of a node. */
  public void observe(NodeMetrics metrics) {
    streams.counts().observe(metrics);
  }

  /** Bytes of all current batches, in direct memory. */
  public long allocatedBytes() {
    return allocator.getAllocatedMemory();
  }

  /** Ends running streams and frees their memory. */
  @Override
  public void close() {
    port.ifPresent(TcpPort::close);
    executor.shutdownNow();
    try {
      if (!executor.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        log.warning(
            "Data streams still run after the endpoint was closed [seconds=" + CLOSE_SECONDS + "]");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    long allocated = allocator.getAllocatedMemory();
    if (allocated > 0) {
      log.warning(
          "Data endpoint closed while buffers are still being written [bytes=" + allocated + "]");
    } else {
      received.close();
      allocator.close();
    }
  }
}
