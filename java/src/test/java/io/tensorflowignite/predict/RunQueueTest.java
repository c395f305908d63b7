package io.tensorflowignite.predict;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

public class RunQueueTest {
  /** Two programs that compute share one processor: each waits for half of the time. */
  @Test(timeout = 60_000)
  public void aProcessThatSharesItsProcessorWaitsAndAnEndedOneDoesNot() throws Exception {
    List<Process> programs = new ArrayList<>();
    try {
      for (int i = 0; i < 2; i++) {
        programs.add(
            new ProcessBuilder("taskset", "--cpu-list", "0", "sh", "-c", "while :; do :; done")
                .start());
      }
      long pid = programs.get(0).pid();
      long before = RunQueue.waited(pid);
      while (RunQueue.waited(pid) - before < 20_000_000) {
        assertTrue(programs.get(0).isAlive());
        Thread.sleep(10);
      }
    } finally {
      for (Process program : programs) {
        program.destroyForcibly().waitFor();
      }
    }
    assertEquals(0, RunQueue.waited(programs.get(0).pid()));
  }
}
