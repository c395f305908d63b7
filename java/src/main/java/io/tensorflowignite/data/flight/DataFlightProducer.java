package io.tensorflowignite.data.flight;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NO_AGENT;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.grpc.BindableService;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.load.CacheLoader;
import io.tensorflowignite.data.schema.CacheNames;
import io.tensorflowignite.data.schema.SchemaResolver;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.stream.ReadCounts;
import io.tensorflowignite.data.stream.ReadPlan;
import io.tensorflowignite.data.stream.RowStreams;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.ExistingCache;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.LoadResult;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightGrpcUtils;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.NoOpFlightProducer;
import org.apache.arrow.flight.PutResult;
import org.apache.arrow.flight.SchemaResult;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.flight.auth.ServerAuthHandler;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/** Implements Flight's calls as data.proto describes. */
public final class DataFlightProducer extends NoOpFlightProducer {
  private static final int SCHEMA_SECONDS = 120;
  private static final int ENDPOINT_SECONDS = 10;
  private static final int ENDPOINT_POLL_MILLIS = 50;
  private static final int POLL_MILLIS = 2;

  private final Ignite ignite;
  private final NodeDirectory directory;
  private final BufferAllocator allocator;
  private final ExecutorService executor;
  private final FlightErrors errors;
  private final SchemaStore store;
  private final SchemaResolver schemas;
  private final RowStreams streams;
  private final Guard guard;

  public DataFlightProducer(
      Ignite ignite,
      NodeDirectory directory,
      SchemaStore store,
      SchemaResolver schemas,
      RowStreams streams,
      BufferAllocator allocator,
      ExecutorService executor,
      FlightErrors errors,
      Guard guard) {
    this.guard = guard;
    this.ignite = ignite;
    this.directory = directory;
    this.allocator = allocator;
    this.executor = executor;
    this.errors = errors;
    this.store = store;
    this.schemas = schemas;
    this.streams = streams;
  }

  /**
   * The service for a gRPC server.
   *
   * @param received memory for the batches of loads
   */
  // Flight's factory needs a handler of a deprecated type; the server's interceptors authenticate.
  @SuppressWarnings("deprecation")
  public BindableService service(BufferAllocator received) {
    BindableService flight =
        FlightGrpcUtils.createFlightService(received, this, ServerAuthHandler.NO_OP, executor);
    return () -> FlightRequestValidation.checked(flight.bindService(), received);
  }

  @Override
  public FlightInfo getFlightInfo(CallContext context, FlightDescriptor descriptor) {
    try {
      ReadPlan plan = plan(readCommand(descriptor));
      return new FlightInfo(plan.schema(), descriptor, endpoints(plan), -1, streams.count(plan));
    } catch (RuntimeException | InterruptedException | StackOverflowError error) {
      throw errors.of("GetFlightInfo", error);
    }
  }

  @Override
  public SchemaResult getSchema(CallContext context, FlightDescriptor descriptor) {
    try {
      return new SchemaResult(plan(readCommand(descriptor)).schema());
    } catch (RuntimeException | InterruptedException | StackOverflowError error) {
      throw errors.of("GetSchema", error);
    }
  }

  @Override
  public void getStream(CallContext context, Ticket ticket, ServerStreamListener listener) {
    FlightBatchSink sink = new FlightBatchSink(listener);
    try {
      executor.execute(() -> read(ticket.getBytes(), sink));
    } catch (RejectedExecutionException closed) {
      sink.fail(errors.of("DoGet", new InterruptedException()));
    }
  }

  @Override
  public Runnable acceptPut(
      CallContext context, FlightStream stream, StreamListener<PutResult> acknowledgements) {
    return () -> {
      try {
        awaitSchema(stream, context);
        LoadCommand command = withCacheName(loadCommand(stream.getDescriptor()));
        requireWrite(command);
        CacheLoader loader = new CacheLoader(ignite, schemas, store);
        FlightBatches batches = new FlightBatches(stream, command.getSealed());
        LongConsumer progress = command.getProgress() ? progress(acknowledgements) : stored -> {};
        send(loader.load(command, batches, progress), acknowledgements);
        acknowledgements.onCompleted();
      } catch (Exception error) {
        acknowledgements.onError(errors.of("DoPut", error));
      }
    };
  }

  /** Waits for the schema. Flight has no timeout for a client that never sends it. */
  private static void awaitSchema(FlightStream stream, CallContext context)
      throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SCHEMA_SECONDS);
    while (!stream.hasRoot()) {
      if (context.isCancelled() || System.nanoTime() - deadline > 0) {
        throw invalidRequest(
            "no schema arrived within %d s; the first message of a load holds its descriptor and"
                + " the schema of its batches; send both in one message",
            SCHEMA_SECONDS);
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
    // Throws the error that has arrived instead of the schema; getDescriptor() would not throw it.
    stream.getSchema();
  }

  private void requireWrite(LoadCommand command) {
    boolean exists = ignite.cacheNames().contains(command.getCache());
    boolean replaced = command.getExisting() == ExistingCache.EXISTING_CACHE_REPLACE;
    guard.writeCache(command.getCache(), !exists || replaced, exists && replaced);
    if (!command.getLike().isEmpty()) {
      guard.readCache(command.getLike());
    }
  }

  /** The command; an SQL table that {@code like} names is replaced by the name of its cache. */
  private LoadCommand withCacheName(LoadCommand command) {
    return command.getLike().isEmpty()
        ? command
        : command.toBuilder().setLike(cacheName(command.getLike())).build();
  }

  private ReadPlan plan(ReadCommand command) throws InterruptedException {
    ReadCommand resolved = command.toBuilder().setCache(cacheName(command.getCache())).build();
    guard.readCache(resolved.getCache());
    return streams.plan(resolved, guard::readCache);
  }

  private String cacheName(String name) {
    try {
      return CacheNames.resolve(ignite, name);
    } catch (TensorFlowIgniteException ambiguous) {
      // The error names caches.
      guard.readCache(name);
      throw ambiguous;
    }
  }

  private void read(byte[] ticket, FlightBatchSink sink) {
    try {
      ReadCommand command = parse(ReadCommand.parser(), ticket, "ticket");
      guard.readCache(command.getCache());
      ReadPlan plan = streams.planTicket(command, guard::readCache);
      sink.start(plan.schema());
      sink.complete(streams.read(plan, allocator, sink, ReadCounts.Transport.FLIGHT), allocator);
    } catch (Throwable error) {
      // Also errors of the JVM: a client without an answer would wait without end.
      sink.fail(errors.of("DoGet", error));
    }
  }

  /** Sends the number of stored rows each time that it has changed. */
  private LongConsumer progress(StreamListener<PutResult> acknowledgements) {
    AtomicLong sent = new AtomicLong();
    return stored -> {
      if (sent.getAndSet(stored) != stored) {
        send(LoadResult.newBuilder().setRows(stored).setPartial(true).build(), acknowledgements);
      }
    };
  }

  private void send(LoadResult result, StreamListener<PutResult> acknowledgements) {
    byte[] bytes = result.toByteArray();
    try (ArrowBuf metadata = allocator.buffer(bytes.length)) {
      metadata.writeBytes(bytes);
      acknowledgements.onNext(PutResult.metadata(metadata));
    }
  }

  /**
   * The owners' endpoints. A node that has joined owns partitions before its service has started:
   * this waits for at most {@value #ENDPOINT_SECONDS} s. The owners of a node that leaves meanwhile
   * are determined again.
   */
  private List<FlightEndpoint> endpoints(ReadPlan plan) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(ENDPOINT_SECONDS);
    while (true) {
      List<FlightEndpoint> endpoints = new ArrayList<>();
      Map.Entry<ClusterNode, List<Integer>> missing = null;
      for (Map.Entry<ClusterNode, List<Integer>> owner :
          plan.owners().byNode(plan.partitions()).entrySet()) {
        Optional<String> address = directory.address(owner.getKey().id());
        if (address.isEmpty()) {
          missing = owner;
        } else {
          Ticket ticket = new Ticket(plan.command(owner.getValue()).toByteArray());
          endpoints.add(new FlightEndpoint(ticket, location(address.get())));
        }
      }
      if (missing == null) {
        return endpoints;
      }
      if (System.nanoTime() - deadline > 0) {
        throw noEndpoint(missing.getKey().id(), missing.getValue().size());
      }
      TimeUnit.MILLISECONDS.sleep(ENDPOINT_POLL_MILLIS);
    }
  }

  private static TensorFlowIgniteException noEndpoint(UUID node, int partitions) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_NO_AGENT,
        "node %s owns %d of the requested partitions, but runs no data endpoint; every node that"
            + " owns partitions must run TensorFlowService, at the latest %d s after it has joined;"
            + " deploy the service there, or exclude the node from the cache (node filter)",
        node,
        partitions,
        ENDPOINT_SECONDS);
  }

  private Location location(String address) {
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon);
    int port = Integer.parseInt(address.substring(colon + 1));
    return directory.encrypted()
        ? Location.forGrpcTls(host, port)
        : Location.forGrpcInsecure(host, port);
  }

  /**
   * The command of a descriptor. A path is a cache's name. A client that knows only Flight cannot
   * give options for nulls; it gets nulls, which Arrow has.
   */
  private static ReadCommand readCommand(FlightDescriptor descriptor) {
    if (descriptor.isCommand()) {
      return parse(ReadCommand.parser(), descriptor.getCommand(), "descriptor");
    }
    return ReadCommand.newBuilder()
        .setCache(String.join("/", descriptor.getPath()))
        .setNulls(Nulls.NULLS_KEEP)
        .build();
  }

  private static LoadCommand loadCommand(FlightDescriptor descriptor) {
    if (descriptor == null) {
      throw invalidRequest(
          "the rows have no descriptor; the first message needs one, which names the cache; send a"
              + " descriptor");
    }
    if (!descriptor.isCommand()) {
      return LoadCommand.newBuilder().setCache(String.join("/", descriptor.getPath())).build();
    }
    return parse(LoadCommand.parser(), descriptor.getCommand(), "descriptor");
  }

  private static <T extends Message> T parse(Parser<T> parser, byte[] bytes, String where) {
    try {
      return parser.parseFrom(bytes);
    } catch (InvalidProtocolBufferException malformed) {
      throw invalidRequest(
          "the %s holds no command (%s); it must be a serialized message of data.proto; send a"
              + " ReadCommand or LoadCommand",
          where, malformed.getMessage());
    }
  }
}
