package io.tensorflowignite.base;

import static org.junit.Assert.assertEquals;

import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.junit.Test;

public class MessageTextTest {
  @Test
  public void theReasonOfALibraryHasNeitherItsDetailsNorItsClassNames() {
    String details = " [timeout=25000, tx=GridDhtTxLocal [" + "nodeId=1, ".repeat(5_000) + "]]";
    assertEquals(
        "Failed to acquire lock within provided timeout for transaction",
        MessageText.reason(
            new IgniteException(
                "Failed to acquire lock within provided timeout for transaction" + details)));
    assertEquals(
        "the node left",
        MessageText.reason(
            new IllegalStateException(
                new IgniteCheckedException(
                    "org.apache.ignite.IgniteCheckedException: the node left\n"
                        + "at a.b.C.d(C.java:7)"))));
  }

  @Test
  public void theReasonIsNeverEmptyOrLong() {
    assertEquals("NullPointerException", MessageText.reason(new NullPointerException()));
    assertEquals(
        "NullPointerException: Failed to find x",
        MessageText.reason(new IgniteException("Failed to find x", new NullPointerException())));
    assertEquals(301, MessageText.reason(new IgniteException("x".repeat(10_000))).length());
    assertEquals("IgniteException", MessageText.reason(new IgniteException("[]")));
  }
}
