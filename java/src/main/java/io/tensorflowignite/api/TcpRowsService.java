package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;

import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.stream.DataErrors;
import io.tensorflowignite.data.stream.ReadCounts;
import io.tensorflowignite.data.stream.ReadPlan;
import io.tensorflowignite.data.stream.RowStreams;
import io.tensorflowignite.data.tcp.ReusedArena;
import io.tensorflowignite.data.tcp.TcpBatchSink;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadOverTcpRequest;
import io.tensorflowignite.v1.ReadOverTcpResponse;
import io.tensorflowignite.v1.ReadResult;
import io.tensorflowignite.v1.TcpConnection;
import io.tensorflowignite.v1.TcpRowsServiceGrpc;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.apache.arrow.memory.BufferAllocator;

/** Sends rows over separate TCP connections; a token connects a call with its connection. */
public final class TcpRowsService extends TcpRowsServiceGrpc.TcpRowsServiceImplBase {
  private static final String CALL = "TcpRowsService.ReadOverTcp";
  private static final long CONNECT_MILLIS = 10_000;

  /**
   * Number of streams whose send buffers in the kernel may grow to several MB. Further streams have
   * small buffers: the kernel resets connections when its memory for all buffers is used up.
   */
  private static final int MAX_LARGE_BUFFERS = 64;

  private static final int SMALL_BUFFER_BYTES = 256 << 10;

  private final TcpPort port;
  private final RowStreams streams;
  private final BufferAllocator ordinary;
  private final ExecutorService executor;
  private final DataErrors errors;
  private final Guard guard;

  public TcpRowsService(
      TcpPort port,
      RowStreams streams,
      BufferAllocator ordinary,
      ExecutorService executor,
      DataErrors errors,
      Guard guard) {
    this.port = port;
    this.streams = streams;
    this.ordinary = ordinary;
    this.executor = executor;
    this.errors = errors;
    this.guard = guard;
  }

  @Override
  public void readOverTcp(
      ReadOverTcpRequest request, StreamObserver<ReadOverTcpResponse> observer) {
    ServerCallStreamObserver<ReadOverTcpResponse> answers =
        (ServerCallStreamObserver<ReadOverTcpResponse>) observer;
    ReadCommand command = request.getCommand();
    guard.readCache(command.getCache());
    TcpPort.ExpectedReader reader = port.register();
    answers.setOnCancelHandler(reader::close);
    try {
      executor.execute(() -> run(command, reader, answers));
    } catch (RejectedExecutionException closed) {
      reader.close();
      ErrorStatuses.end(answers, errors.describe(CALL, new InterruptedException()));
    }
  }

  private void run(
      ReadCommand command,
      TcpPort.ExpectedReader reader,
      ServerCallStreamObserver<ReadOverTcpResponse> answers) {
    try (TcpPort.ExpectedReader connected = reader) {
      ReadResult result = send(streams.planTicket(command, guard::readCache), connected, answers);
      answers.onNext(ReadOverTcpResponse.newBuilder().setResult(result).build());
      answers.onCompleted();
    } catch (Throwable error) {
      // Errors of the JVM too: without an answer the reader would wait forever.
      ErrorStatuses.end(answers, errors.describe(CALL, error));
    }
  }

  private ReadResult send(
      ReadPlan plan,
      TcpPort.ExpectedReader reader,
      ServerCallStreamObserver<ReadOverTcpResponse> answers)
      throws InterruptedException, IOException {
    answers.onNext(
        ReadOverTcpResponse.newBuilder()
            .setConnection(
                TcpConnection.newBuilder()
                    .setPort(port.port())
                    .setToken(reader.token())
                    .setSchema(UnsafeByteOperations.unsafeWrap(plan.schema().serializeAsMessage())))
            .build());
    SocketChannel channel = reader.await(CONNECT_MILLIS).orElseThrow(this::notConnected);
    if (streams.open() >= MAX_LARGE_BUFFERS) {
      channel.setOption(StandardSocketOptions.SO_SNDBUF, SMALL_BUFFER_BYTES);
    }
    try (ReusedArena memory = new ReusedArena(ordinary);
        BufferAllocator allocator = memory.allocator()) {
      TcpBatchSink sink = new TcpBatchSink(channel, memory);
      ReadResult result = streams.read(plan, allocator, sink, ReadCounts.Transport.TCP);
      if (sink.broken() != null) {
        throw broken(sink);
      }
      return result.toBuilder().setRows(sink.rows()).build();
    }
  }

  private TensorFlowIgniteException notConnected() {
    return invalidRequest(
        "the reader did not connect to port %d within %d s; rows travel over a separate"
            + " connection, which begins with the token of the answer; open that port in"
            + " firewalls, or read over Arrow Flight (of a dataset: transport=\"flight\")",
        port.port(), CONNECT_MILLIS / 1_000);
  }

  private static TensorFlowIgniteException broken(TcpBatchSink sink) {
    return new TensorFlowIgniteException(
        ERROR_CODE_INTERNAL_ERROR,
        String.format(
            "the connection of the rows broke after %d rows (%s); a stream must bring all of its"
                + " rows; read again",
            sink.rows(), sink.broken().getMessage()),
        sink.broken());
  }
}
