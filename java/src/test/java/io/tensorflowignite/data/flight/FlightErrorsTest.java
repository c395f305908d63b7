package io.tensorflowignite.data.flight;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.stream.DataErrors;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

public class FlightErrorsTest {
  private final FlightErrors errors = new FlightErrors(new DataErrors(new NullLogger()));

  @Test
  public void everyCodeButInternalErrorHasAnotherStatusThanInternal() {
    for (ErrorCode code : ErrorCode.values()) {
      if (code != ErrorCode.UNRECOGNIZED) {
        FlightRuntimeException error =
            errors.of("DoGet", new TensorFlowIgniteException(code, "text"));
        assertEquals("text [code=" + MessageText.name(code) + "]", error.status().description());
        if (code == ERROR_CODE_INTERNAL_ERROR) {
          assertEquals(FlightStatusCode.INTERNAL, error.status().code());
        } else {
          assertNotEquals(FlightStatusCode.INTERNAL, error.status().code());
        }
      }
    }
  }

  @Test
  public void unexpectedErrorsAreInternalAndAStreamThatEndsWithItsServiceIsUnavailable() {
    FlightRuntimeException error = errors.of("DoGet", new IllegalStateException("broken"));

    assertEquals(FlightStatusCode.INTERNAL, error.status().code());
    assertTrue(error.status().description(), error.status().description().contains("broken"));
    assertTrue(error.status().description().endsWith(" [code=INTERNAL_ERROR]"));
    assertEquals(
        FlightStatusCode.UNAVAILABLE,
        errors.of("DoGet", new InterruptedException()).status().code());
  }
}
