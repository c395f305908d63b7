package io.tensorflowignite.data.tcp;

import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.DataErrors;
import io.tensorflowignite.data.read.ReadPlan;
import io.tensorflowignite.data.read.RowStreams;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import io.tensorflowignite.v1.ReadTcp;
import io.tensorflowignite.v1.TcpAnswer;
import io.tensorflowignite.v1.TcpConnection;
import io.tensorflowignite.v1.TcpRowsGrpc;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.apache.arrow.memory.BufferAllocator;

/** Sends rows over connections of their own, for calls that say whose they are. */
public final class TcpRowsService extends TcpRowsGrpc.TcpRowsImplBase {
  private static final String CALL = "TcpRows.Read";
  private static final long CONNECT_MILLIS = 10_000;

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
  public void read(ReadTcp request, StreamObserver<TcpAnswer> observer) {
    ServerCallStreamObserver<TcpAnswer> answers = (ServerCallStreamObserver<TcpAnswer>) observer;
    ReadCommand command = request.getCommand();
    guard.readCache(command.getCache());
    TcpPort.Visitor reader = port.expect();
    answers.setOnCancelHandler(reader::close);
    try {
      executor.execute(() -> run(command, reader, answers));
    } catch (RejectedExecutionException closed) {
      reader.close();
      errors.end(answers, CALL, new InterruptedException());
    }
  }

  private void run(
      ReadCommand command, TcpPort.Visitor reader, ServerCallStreamObserver<TcpAnswer> answers) {
    try (TcpPort.Visitor connected = reader) {
      ReadResult result = send(streams.plan(command), connected, answers);
      answers.onNext(TcpAnswer.newBuilder().setResult(result).build());
      answers.onCompleted();
    } catch (Throwable error) {
      // Errors of the JVM too: a client that is told nothing waits for ever.
      errors.end(answers, CALL, error);
    }
  }

  private ReadResult send(
      ReadPlan plan, TcpPort.Visitor reader, ServerCallStreamObserver<TcpAnswer> answers)
      throws InterruptedException {
    answers.onNext(
        TcpAnswer.newBuilder()
            .setConnection(
                TcpConnection.newBuilder()
                    .setPort(port.port())
                    .setToken(reader.token())
                    .setSchema(UnsafeByteOperations.unsafeWrap(plan.schema().serializeAsMessage())))
            .build());
    SocketChannel channel = reader.await(CONNECT_MILLIS).orElseThrow(this::nobodyCame);
    try (ReusedMemory memory = new ReusedMemory(ordinary);
        BufferAllocator allocator = memory.allocator()) {
      TcpCarrier carrier = new TcpCarrier(channel, memory);
      ReadResult result = streams.read(plan, allocator, carrier);
      if (carrier.broken() != null) {
        throw broken(carrier);
      }
      return result.toBuilder().setRows(carrier.rows()).build();
    }
  }

  private TensorFlowIgniteException nobodyCame() {
    return new TensorFlowIgniteException(
        ErrorCode.INVALID_REQUEST,
        String.format(
            "the reader did not connect to port %d within %d s; rows travel over a connection of"
                + " their own, which begins with the token of the answer; let that port through, or"
                + " read over Arrow Flight (of a dataset: transport=\"flight\")",
            port.port(), CONNECT_MILLIS / 1_000));
  }

  private static TensorFlowIgniteException broken(TcpCarrier carrier) {
    return new TensorFlowIgniteException(
        ErrorCode.INTERNAL_ERROR,
        String.format(
            "the connection of the rows broke after %d of them (%s); a stream brings all of its"
                + " rows; read again",
            carrier.rows(), carrier.broken().getMessage()),
        carrier.broken());
  }
}
