package io.tensorflowignite.data.shared;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.DataErrors;
import io.tensorflowignite.data.read.ReadPlan;
import io.tensorflowignite.data.read.RowStreams;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.OpenShared;
import io.tensorflowignite.v1.SharedBatch;
import io.tensorflowignite.v1.SharedMemoryGrpc;
import io.tensorflowignite.v1.SharedRequest;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.apache.arrow.memory.BufferAllocator;

/** Lays rows into the memory of readers on this host, as proto shared.proto says. */
public final class SharedMemoryService extends SharedMemoryGrpc.SharedMemoryImplBase {
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
  public StreamObserver<SharedRequest> read(StreamObserver<SharedBatch> answers) {
    return new Call((ServerCallStreamObserver<SharedBatch>) answers);
  }

  /** One reader's call: its events come here, its rows are read on a thread of their own. */
  private final class Call implements StreamObserver<SharedRequest> {
    private final ServerCallStreamObserver<SharedBatch> answers;
    private SegmentOffers offers;

    Call(ServerCallStreamObserver<SharedBatch> answers) {
      this.answers = answers;
      answers.setOnCancelHandler(this::abandon);
    }

    @Override
    public void onNext(SharedRequest request) {
      if (offers != null && request.hasOffer()) {
        offers.add(request.getOffer());
      } else if (offers == null && request.hasOpen()) {
        open(request.getOpen());
      } else {
        abandon();
        throw new TensorFlowIgniteException(
            ErrorCode.INVALID_REQUEST,
            "a call of SharedMemory.Read sent "
                + request.getRequestCase()
                + " out of turn; it opens once, and then offers segments; send OPEN first");
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

    private void open(OpenShared open) {
      guard.readCache(open.getCommand().getCache());
      MappedMemory.requireNonce(open.getNonce());
      offers = new SegmentOffers(open.getPid(), open.getNonce().toByteArray());
      try {
        executor.execute(() -> run(open));
      } catch (RejectedExecutionException closed) {
        fail(new InterruptedException());
      }
    }

    private void run(OpenShared open) {
      try {
        read(open);
        answers.onCompleted();
      } catch (SegmentOffers.ReaderGone gone) {
        // Nobody listens any more.
      } catch (Throwable error) {
        // Errors of the JVM too: a client that is told nothing waits for ever.
        fail(error);
      }
    }

    /** When it returns or throws, nothing of the reader's memory is mapped any more. */
    private void read(OpenShared open) throws InterruptedException {
      ReadPlan plan = streams.plan(open.getCommand());
      try (SegmentOffers lent = offers) {
        SegmentMemory memory = new SegmentMemory(ordinary, lent);
        SegmentCarrier carrier = new SegmentCarrier(answers, lent, memory);
        try (BufferAllocator allocator = memory.allocator()) {
          carrier.start(plan.schema());
          carrier.complete(streams.read(plan, allocator, carrier));
        }
      }
    }

    private void fail(Throwable error) {
      errors.end(answers, "SharedMemory.Read", error);
    }
  }
}
