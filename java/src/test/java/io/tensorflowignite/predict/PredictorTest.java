package io.tensorflowignite.predict;

import static org.junit.Assert.assertSame;

import io.tensorflowignite.v1.PredictResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class PredictorTest {
  @Test
  public void aCallerMayWaitForever() {
    CompletableFuture<PredictResponse> result =
        new CompletableFuture<PredictResponse>()
            .completeOnTimeout(PredictResponse.getDefaultInstance(), 50, TimeUnit.MILLISECONDS);
    assertSame(
        PredictResponse.getDefaultInstance(),
        Predictor.await(result, Predictor.deadline(Long.MAX_VALUE)));
  }
}
