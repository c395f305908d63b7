package io.tensorflowignite.data;

import io.grpc.BindableService;
import io.tensorflowignite.data.flight.DataProducer;
import io.tensorflowignite.data.flight.FlightErrors;
import io.tensorflowignite.data.read.RowStreams;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.data.shared.SegmentMemory;
import io.tensorflowignite.data.shared.SharedMemoryService;
import io.tensorflowignite.security.Guard;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.flight.FlightGrpcUtils;
import org.apache.arrow.flight.auth.ServerAuthHandler;
import org.apache.arrow.memory.AllocationListener;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The data endpoint of one node: Arrow Flight, and memory shared with readers on this host, as
 * services for an ordinary gRPC server. That server must accept messages of any size, since the
 * batches of a load are as large as their sender makes them. Authentication is the server's.
 *
 * <p>Close it after the server has ended, which holds on to buffers until they are written.
 */
public final class DataEndpoint implements AutoCloseable {
  private static final long CLOSE_SECONDS = 10;

  private final IgniteLogger log;
  private final BufferAllocator allocator;
  private final ExecutorService executor;
  private final BindableService service;
  private final BindableService sharedMemory;

  /**
   * @param ignite the node whose partitions it reads
   * @param directory tells clients where the other nodes' endpoints are
   * @param guard judges each call
   */
  // Flight's factory asks for a handler of a deprecated kind; the server's own interceptors
  // authenticate.
  @SuppressWarnings("deprecation")
  public DataEndpoint(Ignite ignite, NodeDirectory directory, Guard guard) {
    log = ignite.log().getLogger(DataEndpoint.class);
    // Arrow's own policy, powers of two, would take almost twice the memory that a batch needs.
    allocator = new RootAllocator(AllocationListener.NOOP, Long.MAX_VALUE, SegmentMemory::aligned);
    AtomicInteger threads = new AtomicInteger();
    // Flight answers on threads of its own: who calls is known there as well.
    executor =
        new ContextExecutor(
            Executors.newCachedThreadPool(
                task -> {
                  String name = "tensorflow-ignite-data-" + threads.incrementAndGet();
                  Thread thread = new Thread(task, name);
                  thread.setDaemon(true);
                  return thread;
                }));
    DataErrors errors = new DataErrors(log);
    SchemaStore store = new SchemaStore(ignite);
    Schemas schemas = new Schemas(ignite, store);
    RowStreams streams = new RowStreams(ignite, directory.localNode(), schemas);
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
    sharedMemory = new SharedMemoryService(streams, allocator, executor, errors, guard);
    service =
        FlightGrpcUtils.createFlightService(allocator, producer, ServerAuthHandler.NO_OP, executor);
  }

  /** Arrow Flight. */
  public BindableService service() {
    return service;
  }

  /** The same rows for readers on this host. */
  public BindableService sharedMemory() {
    return sharedMemory;
  }

  /** Bytes of batches that exist now, in direct memory. */
  public long allocatedBytes() {
    return allocator.getAllocatedMemory();
  }

  /** Ends running streams and frees their memory. */
  @Override
  public void close() {
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
      allocator.close();
    }
  }
}
