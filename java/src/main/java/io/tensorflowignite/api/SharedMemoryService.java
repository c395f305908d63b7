package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.data.shared.SegmentArena;
import io.tensorflowignite.data.shared.SegmentBatchSink;
import io.tensorflowignite.data.shared.SegmentQueue;
import io.tensorflowignite.data.stream.DataErrors;
import io.tensorflowignite.data.stream.ReadCounts;
import io.tensorflowignite.data.stream.ReadPlan;
import io.tensorflowignite.data.stream.RowStreams;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.ReadIntoMemoryRequest;
import io.tensorflowignite.v1.ReadIntoMemoryResponse;
import io.tensorflowignite.v1.ReadIntoMemoryStart;
import io.tensorflowignite.v1.SharedMemoryServiceGrpc;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.apache.arrow.memory.BufferAllocator;

/** Writes rows into the memory of readers on this host; shared.proto has the protocol. */
public final class SharedMemoryService extends SharedMemoryServiceGrpc.SharedMemoryServiceImplBase {
  private final RowStreams streams;
  private final BufferAllocator ordinary;
  private final ExecutorService executor;
  private final DataErrors errors;
  private final Guard guard;

  public SharedMemoryService(
      RowStreams streams,
      BufferAllocator ordinary,
      ExecutorService executor,
      DataErrors errors,
      Guard guard) {
    this.guard = guard;
    this.streams = streams;
    this.ordinary = ordinary;
    this.executor = executor;
    this.errors = errors;
  }

  @Override
  public StreamObserver<ReadIntoMemoryRequest> readIntoMemory(
      StreamObserver<ReadIntoMemoryResponse> answers) {
    return new Call((ServerCallStreamObserver<ReadIntoMemoryResponse>) answers);
  }

  /** One reader's call; its rows are read on another thread. */
  private final class Call implements StreamObserver<ReadIntoMemoryRequest> {
    private final ServerCallStreamObserver<ReadIntoMemoryResponse> answers;
    private SegmentQueue offers;

    Call(ServerCallStreamObserver<ReadIntoMemoryResponse> answers) {
      this.answers = answers;
      answers.setOnCancelHandler(this::abandon);
    }

    @Override
    public void onNext(ReadIntoMemoryRequest request) {
      if (offers != null && request.hasOffer()) {
        offers.add(request.getOffer());
      } else if (offers == null && request.hasStart()) {
        open(request.getStart());
      } else {
        abandon();
        throw invalidRequest(
            "a call of SharedMemoryService.ReadIntoMemory sent %s out of turn; a call has one"
                + " start, and then offers segments; send START first",
            request.getRequestCase());
      }
    }

    @Override
    public void onError(Throwable broken) {
      abandon();
    }

    @Override
    public void onCompleted() {
      if (offers == null) {
        answers.onCompleted();
      } else {
        offers.end();
      }
    }

    private void abandon() {
      if (offers != null) {
        offers.abandon();
      }
    }

    private void open(ReadIntoMemoryStart open) {
      guard.readCache(open.getCommand().getCache());
      MappedMemory.requireNonce(open.getNonce());
      offers = new SegmentQueue(open.getPid(), open.getNonce().toByteArray());
      try {
        executor.execute(() -> run(open));
      } catch (RejectedExecutionException closed) {
        fail(new InterruptedException());
      }
    }

    private void run(ReadIntoMemoryStart open) {
      try {
        read(open);
        answers.onCompleted();
      } catch (SegmentQueue.ReaderDisconnected disconnected) {
        // The reader has ended the call.
      } catch (Throwable error) {
        // Errors of the JVM too: without an answer the reader would wait forever.
        fail(error);
      }
    }

    /** Unmaps the reader's memory before it returns or throws. */
    private void read(ReadIntoMemoryStart open) throws InterruptedException {
      ReadPlan plan = streams.planTicket(open.getCommand(), guard::readCache);
      try (SegmentQueue segments = offers) {
        SegmentArena memory = new SegmentArena(ordinary, segments);
        SegmentBatchSink sink = new SegmentBatchSink(answers::onNext, segments, memory);
        try (BufferAllocator allocator = memory.allocator()) {
          sink.start(plan.schema());
          sink.complete(streams.read(plan, allocator, sink, ReadCounts.Transport.SHARED));
        }
      }
    }

    private void fail(Throwable error) {
      ErrorStatuses.end(answers, errors.describe("SharedMemoryService.ReadIntoMemory", error));
    }
  }
}
