package io.tensorflowignite.plain;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_JOB_NOT_FOUND;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.GetJobResponse;
import io.tensorflowignite.v1.NodeApiServiceGrpc.AsyncService;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.logger.NullLogger;
import org.junit.After;
import org.junit.Test;

/** Calls for jobs whose node API answers as each test says. */
public class PlainJobsTest {
  private static final int LIMIT_S = 60;

  private final Api api = new Api();
  private final PlainJobs jobs = jobs(LIMIT_S * 1_000);

  @After
  public void close() {
    jobs.close();
  }

  @Test
  public void anErrorHasTheCodeOfTheNodeApi() {
    // The text of a job may end like that of an error.
    String text = "There is no job 'a [code=SQL_INVALID]'";
    api.get =
        call ->
            call.onError(
                ErrorStatuses.of(new TensorFlowIgniteException(ERROR_CODE_JOB_NOT_FOUND, text))
                    .asRuntimeException());
    assertRefused(ERROR_CODE_JOB_NOT_FOUND, () -> jobs.state("a"), text + " [code=JOB_NOT_FOUND]");
    api.get =
        call -> {
          throw new TensorFlowIgniteException(ERROR_CODE_JOB_NOT_FOUND, text);
        };
    assertRefused(ERROR_CODE_JOB_NOT_FOUND, () -> jobs.state("a"), text + " [code=JOB_NOT_FOUND]");
    api.get =
        call ->
            call.onError(
                Status.UNKNOWN.withDescription("odd [code=A_LATER_ONE]").asRuntimeException());
    assertRefused(ERROR_CODE_INTERNAL_ERROR, () -> jobs.state("a"), "odd [code=A_LATER_ONE]");
    api.get =
        call -> {
          throw new StackOverflowError();
        };
    assertRefused(ERROR_CODE_INTERNAL_ERROR, () -> jobs.state("a"), "[code=INTERNAL_ERROR]");
  }

  @Test
  public void callsWhoseCallersWaitNoMoreTakeNoPlaceOfOthers() {
    api.get = call -> {};
    try (PlainJobs hasty = jobs(1)) {
      // More than may run and wait.
      for (int i = 0; i < 100; i++) {
        assertRefused(
            ERROR_CODE_INTERNAL_ERROR, () -> hasty.state("a"), "has not answered a call for jobs");
      }
    }
  }

  @Test
  public void aNodeThatStopsSaysSo() throws InterruptedException {
    CountDownLatch isAsked = new CountDownLatch(1);
    api.get = call -> isAsked.countDown();
    Thread stops =
        new Thread(
            () -> {
              try {
                assertTrue(isAsked.await(LIMIT_S, TimeUnit.SECONDS));
              } catch (InterruptedException e) {
                return;
              }
              jobs.close();
            });
    stops.start();
    assertRefused(ERROR_CODE_INTERNAL_ERROR, () -> jobs.state("a"), "This node stops");
    stops.join();
    assertRefused(ERROR_CODE_INTERNAL_ERROR, () -> jobs.state("a"), "This node stops");
  }

  @Test
  @SuppressWarnings({"unchecked", "rawtypes"})
  public void mapsOfOtherLanguagesAreRefusedByName() {
    Map files = Collections.singletonMap(7, "");
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        () -> jobs.submit(files, Map.of()),
        "The files of the job have the key 7, which is no text");
    Map options = new HashMap<>();
    options.put(null, "rows");
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        () -> jobs.submit(Map.of(), options),
        "The options of the job have the key null, which is no text");
    assertRefused(
        ERROR_CODE_INVALID_REQUEST,
        () -> jobs.submit(null, Map.of()),
        "The files of the job are null");
    assertFalse(api.isCalled);
  }

  private PlainJobs jobs(long timeoutMs) {
    return new PlainJobs(api, () -> Context.ROOT, new NullLogger(), timeoutMs);
  }

  /** Answers a call. */
  private interface Answer {
    void to(StreamObserver<GetJobResponse> call);
  }

  private static final class Api implements AsyncService {
    private volatile Answer get;
    private volatile boolean isCalled;

    @Override
    public void getJob(GetJobRequest request, StreamObserver<GetJobResponse> call) {
      isCalled = true;
      get.to(call);
    }
  }
}
