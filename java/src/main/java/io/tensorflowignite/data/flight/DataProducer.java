package io.tensorflowignite.data.flight;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.NodeDirectory;
import io.tensorflowignite.data.load.CacheLoader;
import io.tensorflowignite.data.read.ReadPlan;
import io.tensorflowignite.data.read.RowStreams;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ExistingCache;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.LoadResult;
import io.tensorflowignite.v1.ReadCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.NoOpFlightProducer;
import org.apache.arrow.flight.PutResult;
import org.apache.arrow.flight.SchemaResult;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/** Answers Flight's calls as proto data.proto says. */
public final class DataProducer extends NoOpFlightProducer {
  private static final int SCHEMA_SECONDS = 20;
  private static final int POLL_MILLIS = 2;

  private final Ignite ignite;
  private final NodeDirectory directory;
  private final BufferAllocator allocator;
  private final ExecutorService executor;
  private final FlightErrors errors;
  private final SchemaStore store;
  private final Schemas schemas;
  private final RowStreams streams;
  private final Guard guard;

  public DataProducer(
      Ignite ignite,
      NodeDirectory directory,
      SchemaStore store,
      Schemas schemas,
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

  @Override
  public FlightInfo getFlightInfo(CallContext context, FlightDescriptor descriptor) {
    try {
      ReadPlan plan = plan(readCommand(descriptor));
      return new FlightInfo(plan.schema(), descriptor, endpoints(plan), -1, plan.countRows());
    } catch (RuntimeException | StackOverflowError error) {
      throw errors.of("GetFlightInfo", error);
    }
  }

  @Override
  public SchemaResult getSchema(CallContext context, FlightDescriptor descriptor) {
    try {
      return new SchemaResult(plan(readCommand(descriptor)).schema());
    } catch (RuntimeException | StackOverflowError error) {
      throw errors.of("GetSchema", error);
    }
  }

  @Override
  public void getStream(CallContext context, Ticket ticket, ServerStreamListener listener) {
    FlightCarrier carrier = new FlightCarrier(listener);
    try {
      executor.execute(() -> read(ticket.getBytes(), carrier));
    } catch (RejectedExecutionException closed) {
      carrier.fail(errors.of("DoGet", new InterruptedException()));
    }
  }

  @Override
  public Runnable acceptPut(
      CallContext context, FlightStream stream, StreamListener<PutResult> acknowledgements) {
    return () -> {
      try {
        awaitSchema(stream, context);
        LoadCommand command = loadCommand(stream.getDescriptor());
        requireWrite(command);
        CacheLoader loader = new CacheLoader(ignite, schemas, store, executor);
        FlightBatches batches = new FlightBatches(stream, command.getSealed());
        LoadResult result = loader.load(command, batches);
        acknowledge(result, acknowledgements);
      } catch (Exception error) {
        acknowledgements.onError(errors.of("DoPut", error));
      }
    };
  }

  /** Flight itself would wait for ever for a client that ends, or breaks off, before its schema. */
  private static void awaitSchema(FlightStream stream, CallContext context)
      throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SCHEMA_SECONDS);
    while (!stream.hasRoot()) {
      if (context.isCancelled() || System.nanoTime() - deadline > 0) {
        throw new TensorFlowIgniteException(
            ErrorCode.INVALID_REQUEST,
            String.format(
                "no schema of rows came within %d s; a load begins with its descriptor and the"
                    + " schema of its batches, in one message; send them",
                SCHEMA_SECONDS));
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
    // Throws what has come in its place, of which a descriptor does not hear.
    stream.getSchema();
  }

  private void requireWrite(LoadCommand command) {
    boolean exists = ignite.cacheNames().contains(command.getCache());
    boolean replaced = command.getExisting() == ExistingCache.EXISTING_CACHE_REPLACE;
    guard.writeCache(command.getCache(), !exists || replaced, exists && replaced);
  }

  private ReadPlan plan(ReadCommand command) {
    guard.readCache(command.getCache());
    return ReadPlan.of(ignite, directory.localNode(), schemas, command);
  }

  private void read(byte[] ticket, FlightCarrier carrier) {
    try {
      ReadCommand command = parse(ReadCommand.parser(), ticket, "ticket");
      guard.readCache(command.getCache());
      ReadPlan plan = streams.plan(command);
      carrier.start(plan.schema());
      carrier.complete(streams.read(plan, allocator, carrier), allocator);
    } catch (Throwable error) {
      // Errors of the JVM too: a client that is told nothing waits for ever.
      carrier.fail(errors.of("DoGet", error));
    }
  }

  private void acknowledge(LoadResult result, StreamListener<PutResult> acknowledgements) {
    byte[] bytes = result.toByteArray();
    try (ArrowBuf metadata = allocator.buffer(bytes.length)) {
      metadata.writeBytes(bytes);
      acknowledgements.onNext(PutResult.metadata(metadata));
    }
    acknowledgements.onCompleted();
  }

  private List<FlightEndpoint> endpoints(ReadPlan plan) {
    List<FlightEndpoint> endpoints = new ArrayList<>();
    for (Map.Entry<ClusterNode, List<Integer>> owner :
        plan.owners().byNode(plan.partitions()).entrySet()) {
      UUID node = owner.getKey().id();
      Optional<String> address = directory.address(node);
      if (address.isEmpty()) {
        if (ignite.cluster().node(node) == null) {
          // It has left since then, and its partitions have, or soon have, other owners.
          return endpoints(plan);
        }
        throw noEndpoint(node, owner.getValue().size());
      }
      Ticket ticket = new Ticket(plan.command(owner.getValue()).toByteArray());
      endpoints.add(new FlightEndpoint(ticket, location(address.get())));
    }
    return endpoints;
  }

  private static TensorFlowIgniteException noEndpoint(UUID node, int partitions) {
    return new TensorFlowIgniteException(
        ErrorCode.NO_AGENT,
        String.format(
            "node %s owns %d partitions that are asked for, but runs no data endpoint; every node"
                + " that owns partitions must run TensorFlowService; deploy it there, or keep the"
                + " cache off that node (node filter)",
            node, partitions));
  }

  private Location location(String address) {
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon);
    int port = Integer.parseInt(address.substring(colon + 1));
    return directory.encrypted()
        ? Location.forGrpcTls(host, port)
        : Location.forGrpcInsecure(host, port);
  }

  /** Of a command, or of a path that is a cache's name. */
  private static ReadCommand readCommand(FlightDescriptor descriptor) {
    if (descriptor.isCommand()) {
      return parse(ReadCommand.parser(), descriptor.getCommand(), "descriptor");
    }
    return ReadCommand.newBuilder().setCache(String.join("/", descriptor.getPath())).build();
  }

  private static LoadCommand loadCommand(FlightDescriptor descriptor) {
    if (descriptor == null) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          "the rows come without a descriptor; the first message names the cache in it; send one");
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
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the %s holds no command (%s); it carries a message of data.proto, serialized; send"
                  + " one",
              where, malformed.getMessage()));
    }
  }
}
