package io.tensorflowignite.data.flight;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.DataErrors;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

public class FlightErrorsTest {
  private final FlightErrors errors = new FlightErrors(new DataErrors(new NullLogger()));

  @Test
  public void everyCodeHasAStatusThatIsTheCallersMatterExceptInternalErrors() {
    for (ErrorCode code : ErrorCode.values()) {
      if (code != ErrorCode.UNRECOGNIZED) {
        FlightRuntimeException told =
            errors.of("DoGet", new TensorFlowIgniteException(code, "text"));
        assertEquals("text [code=" + code + "]", told.status().description());
        if (code == ErrorCode.INTERNAL_ERROR) {
          assertEquals(FlightStatusCode.INTERNAL, told.status().code());
        } else {
          assertNotEquals(FlightStatusCode.INTERNAL, told.status().code());
        }
      }
    }
  }

  @Test
  public void whatNobodyForesawIsInternalWithItsMessage() {
    FlightRuntimeException told = errors.of("DoGet", new IllegalStateException("broken"));

    assertEquals(FlightStatusCode.INTERNAL, told.status().code());
    assertTrue(told.status().description(), told.status().description().contains("broken"));
    assertTrue(told.status().description().endsWith(" [code=INTERNAL_ERROR]"));
  }

  @Test
  public void aStreamThatEndsWithItsServiceIsUnavailable() {
    assertEquals(
        FlightStatusCode.UNAVAILABLE,
        errors.of("DoGet", new InterruptedException()).status().code());
  }
}
