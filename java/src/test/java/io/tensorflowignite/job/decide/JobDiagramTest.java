package io.tensorflowignite.job.decide;

import static org.junit.Assert.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import org.junit.Test;

public class JobDiagramTest {
  @Test
  public void documentShowsTheStatesThatTheMachineHas() throws IOException {
    assertEquals(
        "docs/job-states.md is stale: run `make diagram`",
        JobDiagram.diagram(),
        JobDiagram.drawn(Files.readString(JobDiagram.DOCUMENT)));
  }
}
