package io.tensorflowignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.lang.reflect.Proxy;
import org.junit.Test;

public class TensorFlowJobsTest {
  @Test
  public void aCallerMayWaitForever() throws InterruptedException {
    TensorFlowJobs running = in("running");
    assertEquals("running", TensorFlowJobs.await(running, "a", 0));
    // It waits: so it notices the interrupt.
    Thread.currentThread().interrupt();
    assertThrows(
        InterruptedException.class, () -> TensorFlowJobs.await(running, "a", Long.MAX_VALUE));
    assertEquals("failed", TensorFlowJobs.await(in("failed"), "a", Long.MAX_VALUE));
  }

  /** Jobs, all of which are in one state. */
  private static TensorFlowJobs in(String state) {
    return (TensorFlowJobs)
        Proxy.newProxyInstance(
            TensorFlowJobs.class.getClassLoader(),
            new Class<?>[] {TensorFlowJobs.class},
            (proxy, method, arguments) -> state);
  }
}
