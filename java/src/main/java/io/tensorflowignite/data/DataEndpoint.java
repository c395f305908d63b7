package io.tensorflowignite.data;

import io.grpc.BindableService;
import io.grpc.ServerInterceptors;
import io.tensorflowignite.BatchLimits;
import io.tensorflowignite.data.column.BlockMemory;
import io.tensorflowignite.data.flight.DataProducer;
import io.tensorflowignite.data.flight.FlightErrors;
import io.tensorflowignite.data.flight.FlightRequests;
import io.tensorflowignite.data.read.RowStreams;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.data.shared.SharedMemoryService;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.data.tcp.TcpRowsService;
import io.tensorflowignite.memory.OwnHostOnly;
import io.tensorflowignite.security.Guard;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.flight.FlightGrpcUtils;
import org.apache.arrow.flight.auth.ServerAuthHandler;
import org.apache.arrow.memory.AllocationListener;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The data endpoint of one node: Arrow Flight, memory shared with readers on this host, and rows
 * over TCP, as services for an ordinary gRPC server. That server must accept messages as large as
 * the batches of a load may be. Authentication is the server's.
 *
 * <p>Close it after the server has ended, which holds on to buffers until they are written.
 */
public final class DataEndpoint implements AutoCloseable {
  private static final long CLOSE_SECONDS = 10;

  /** One for each stream, and what loads share their rows over. */
  private static final int MAX_THREADS = 3_000;

  private static final long THREAD_IDLE_SECONDS = 60;

  private final IgniteLogger log;
  private final BufferAllocator allocator;
  private final BufferAllocator received;
  private final ExecutorService executor;
  private final List<BindableService> services = new ArrayList<>();
  private final Optional<TcpPort> port;

  /**
   * @param ignite the node whose partitions it reads
   * @param directory tells clients where the other nodes' endpoints are
   * @param limits of the memory for all batches at once
   * @param guard judges each call
   * @param port where readers collect rows over TCP; closed with this. Empty: they cannot
   */
  // Flight's factory asks for a handler of a deprecated kind; the server's own interceptors
  // authenticate.
  @SuppressWarnings("deprecation")
  public DataEndpoint(
      Ignite ignite,
      NodeDirectory directory,
      BatchLimits limits,
      Guard guard,
      Optional<TcpPort> port) {
    this.port = port;
    log = ignite.log().getLogger(DataEndpoint.class);
    // Arrow's own policy, powers of two, would take almost twice the memory that a batch needs.
    allocator = new RootAllocator(AllocationListener.NOOP, limits.together(), BlockMemory::aligned);
    AtomicInteger threads = new AtomicInteger();
    // Flight answers on threads of its own: who calls is known there as well.
    executor =
        new ContextExecutor(
            new ThreadPoolExecutor(
                0,
                MAX_THREADS,
                THREAD_IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                task -> {
                  String name = "tensorflow-ignite-data-" + threads.incrementAndGet();
                  Thread thread = new Thread(task, name);
                  thread.setDaemon(true);
                  return thread;
                }));
    DataErrors errors = new DataErrors(log);
    SchemaStore store = new SchemaStore(ignite);
    Schemas schemas = new Schemas(ignite, store);
    RowStreams streams = new RowStreams(ignite, directory.localNode(), schemas, limits.batch());
    DataProducer producer =
        new DataProducer(
            ignite,
            directory,
            store,
            schemas,
            streams,
            allocator,
            executor,
            new FlightErrors(errors),
            guard);
    received = allocator.newChildAllocator("received", single(limits), 0, limits.together());
    SharedMemoryService shared =
        new SharedMemoryService(streams, allocator, executor, errors, guard);
    BindableService flight =
        FlightGrpcUtils.createFlightService(received, producer, ServerAuthHandler.NO_OP, executor);
    services.add(() -> FlightRequests.checked(flight.bindService(), received));
    services.add(() -> ServerInterceptors.intercept(shared, new OwnHostOnly()));
    port.ifPresent(
        open ->
            services.add(new TcpRowsService(open, streams, allocator, executor, errors, guard)));
  }

  /** Arrow makes room for as many values as a batch says, whatever the bytes that came. */
  private static AllocationListener single(BatchLimits limits) {
    return new AllocationListener() {
      @Override
      public void onPreAllocation(long size) {
        if (size > limits.batch()) {
          throw new OutOfMemoryException(
              String.format(
                  "%,d bytes are needed at once, where a batch has at most %,d",
                  size, limits.batch()));
        }
      }
    };
  }

  /** The same rows by different ways. */
  public List<BindableService> services() {
    return services;
  }

  /** Bytes of batches that exist now, in direct memory. */
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
            "Data streams still run after the endpoint's end [seconds=" + CLOSE_SECONDS + "]");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    long held = allocator.getAllocatedMemory();
    if (held > 0) {
      log.warning(
          "Data endpoint closed while buffers are still being written [bytes=" + held + "]");
    } else {
      received.close();
      allocator.close();
    }
  }
}
