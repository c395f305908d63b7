package io.tensorflowignite.plain;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.StreamLogsResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class PlainOutputTest {
  private static final Job OVER =
      Job.newBuilder()
          .setFinishedAt(Timestamps.fromMillis(1))
          .addAttempts(Attempt.newBuilder().setNumber(1))
          .addAttempts(Attempt.newBuilder().setNumber(2))
          .build();

  /** Of two attempts, with a gap of 5 bytes, and a process that was started again. */
  private static final List<List<StreamLogsResponse>> PIECES =
      List.of(
          List.of(piece(0, 0, "aäöü\n"), piece(0, 5, "b\n"), piece(1, 0, "c\n"), piece(1, 2, "")),
          List.of(piece(0, 3, "d\n"), piece(0, 0, "e\n")));

  @Test
  public void partsOfEverySizeAreTheWholeOutput() {
    for (int most = 4; most < 20; most++) {
      StringBuilder text = new StringBuilder();
      long dropped = 0;
      String position = "";
      List<Object> seen = new ArrayList<>();
      boolean complete = false;
      while (!complete) {
        PlainOutput output = new PlainOutput(OVER, "worker:0", position, most);
        assertTrue(output.hasAttempt());
        for (StreamLogsResponse piece : PIECES.get(output.request().getAttempt() - 1)) {
          if (!output.add(piece)) {
            break;
          }
        }
        Map<String, Object> answer = output.answer();
        assertTrue(((String) answer.get("text")).getBytes().length <= most);
        text.append(answer.get("text"));
        dropped += (long) answer.get("droppedBytes");
        position = (String) answer.get("position");
        complete = (boolean) answer.get("complete");
        assertFalse("no progress at " + position, !complete && seen.contains(position));
        seen.add(position);
      }
      assertEquals("most " + most, "aäöü\nb\nc\nd\ne\n", text.toString());
      assertEquals("most " + most, 10, dropped);
    }
  }

  @Test
  public void theOutputOfAJobThatGoesOnIsNotComplete() {
    Job waits = OVER.toBuilder().clearFinishedAt().clearAttempts().build();
    PlainOutput none = new PlainOutput(waits, "worker:0", "", 10);
    assertFalse(none.hasAttempt());
    assertEquals(false, none.answer().get("complete"));
    PlainOutput begun =
        new PlainOutput(OVER.toBuilder().clearFinishedAt().build(), "ps:1", "2.0.4", 10);
    assertEquals(Role.ROLE_PS, begun.request().getRole());
    assertEquals(1, begun.request().getIndex());
    assertEquals("2.0.4", begun.answer().get("position"));
    assertEquals(false, begun.answer().get("complete"));
  }

  @Test
  public void aCharacterOfWhichThereIsABeginComesWhole() {
    ByteString written = ByteString.copyFromUtf8("aä€😀");
    Job running = Job.newBuilder().addAttempts(Attempt.newBuilder().setNumber(1)).build();
    for (int first = 0; first <= written.size(); first++) {
      String begin = "";
      String text = "";
      for (int size : new int[] {first, written.size()}) {
        PlainOutput output = new PlainOutput(running, "worker:0", begin, 99);
        output.add(StreamLogsResponse.newBuilder().setData(written.substring(0, size)).build());
        text += output.answer().get("text");
        begin = (String) output.answer().get("position");
      }
      assertEquals("aä€😀", text);
      assertEquals("1.0.10", begin);
    }
    PlainOutput cut = new PlainOutput(OVER, "worker:0", "2.0.0", 99);
    cut.add(StreamLogsResponse.newBuilder().setData(written.substring(0, 2)).build());
    assertEquals("a\uFFFD", cut.answer().get("text"));
    assertEquals(true, cut.answer().get("complete"));
  }

  @Test
  public void rolesOfAJobAreNumberedTogether() {
    Job.Builder job = OVER.toBuilder();
    job.getSpecBuilder().getStrategyBuilder().putRoles("actor", 2).putRoles("learner", 1);
    assertEquals(2, new PlainOutput(job.build(), "learner:0", "", 9).request().getIndex());
    assertEquals(
        Role.ROLE_NAMED, new PlainOutput(job.build(), "actor:1", "", 9).request().getRole());
  }

  @Test
  public void aTaskOrPositionThatIsNoneIsRefused() {
    refuse("The task is 'worker'. It is ROLE:INDEX", "worker", "");
    refuse("The task is 'null'", null, "");
    refuse("The role is 'chief'", "chief:0", "");
    // Names of the contract, of which one stands for all tasks.
    refuse("The role is 'unspecified'", "unspecified:0", "");
    refuse("The role is 'named'", "named:0", "");
    refuse("The position is '12'", "worker:0", "12");
  }

  private static void refuse(String text, String task, String position) {
    assertRefused(() -> new PlainOutput(OVER, task, position, 10), text);
  }

  private static StreamLogsResponse piece(int incarnation, long dropped, String text) {
    return StreamLogsResponse.newBuilder()
        .setIncarnation(incarnation)
        .setDroppedBytes(dropped)
        .setData(ByteString.copyFromUtf8(text))
        .build();
  }
}
