package io.tensorflowignite.base;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.ErrorCode;
import org.junit.function.ThrowingRunnable;

/** Requires that a call is refused, with an expected error. */
public final class Refusals {
  private Refusals() {}

  /** Returns the text of the refusal, which has all these parts. */
  public static String assertRefused(ThrowingRunnable call, String... parts) {
    return text(assertThrows(TensorFlowIgniteException.class, call), parts);
  }

  /** Returns the text of the refusal, which has this code and all these parts. */
  public static String assertRefused(ErrorCode code, ThrowingRunnable call, String... parts) {
    TensorFlowIgniteException refused = assertThrows(TensorFlowIgniteException.class, call);
    assertEquals(refused.getMessage(), code, refused.code());
    return text(refused, parts);
  }

  private static String text(TensorFlowIgniteException refused, String... parts) {
    String text = refused.getMessage();
    for (String part : parts) {
      assertTrue(text, text.contains(part));
    }
    return text;
  }
}
