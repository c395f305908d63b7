package io.tensorflowignite.api;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.LogChunk;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

public class StoredLogTest {
  @Test
  public void piecesAreTheWholeOutputAndEndAtLineEnds() throws IOException {
    String text = ("x".repeat(99) + "\n").repeat(2_000) + "no line end";
    List<String> pieces = pieces(text, NONE, 0);
    assertEquals(text, String.join("", pieces));
    assertTrue(pieces.size() > 2);
    pieces.subList(0, pieces.size() - 1).forEach(piece -> assertTrue(piece.endsWith("\n")));
    String line = "x".repeat(200_000);
    assertEquals("longer than a piece", line, String.join("", pieces(line, NONE, 0)));
  }

  @Test
  public void outputBeforeThePositionIsSkippedAndDroppedOutputIsReportedAtItsPosition()
      throws IOException {
    assertEquals(List.of("one\n", "[7 dropped]two\n"), pieces("one\ntwo\n", gaps(4, 7), 0));
    assertEquals(List.of("[7 dropped]two\n"), pieces("one\ntwo\n", gaps(4, 7), 4));
    assertEquals(List.of("wo\n"), pieces("one\ntwo\n", gaps(4, 7), 12));
    assertEquals(List.of("[7 dropped]one\n"), pieces("one\n", gaps(0, 7), 0));
    assertEquals(List.of("two\n"), pieces("one\ntwo\n", NONE, 4));
    assertEquals(List.of(), pieces("one\ntwo\n", NONE, 8));
  }

  @Test
  public void allGapsAreReportedAndSentOutputIsSkippedWithItsGaps() throws IOException {
    List<LogChunk> gaps = gaps(0, 7, 4, 5, 8, 3);
    assertEquals(
        List.of("[7 dropped]one\n", "[5 dropped]two\n", "[3 dropped]"),
        pieces("one\ntwo\n", gaps, 0));
    assertEquals(
        List.of("[4 dropped]one\n", "[5 dropped]two\n", "[3 dropped]"),
        pieces("one\ntwo\n", gaps, 3));
    assertEquals(List.of("[2 dropped]two\n", "[3 dropped]"), pieces("one\ntwo\n", gaps, 14));
    assertEquals(List.of(), pieces("one\ntwo\n", gaps, 23));
  }

  private static final List<LogChunk> NONE = List.of();

  /** Gaps from positions and sizes. */
  private static List<LogChunk> gaps(long... numbers) {
    List<LogChunk> gaps = new ArrayList<>();
    for (int i = 0; i < numbers.length; i += 2) {
      gaps.add(
          LogChunk.newBuilder().setSequence(numbers[i]).setDroppedBytes(numbers[i + 1]).build());
    }
    return gaps;
  }

  private static List<String> pieces(String text, List<LogChunk> gaps, long position)
      throws IOException {
    StoredLog log =
        new StoredLog(
            new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)), gaps, position);
    List<String> pieces = new ArrayList<>();
    for (LogChunk piece = log.next(); piece != null; piece = log.next()) {
      String dropped =
          piece.getDroppedBytes() > 0 ? "[" + piece.getDroppedBytes() + " dropped]" : "";
      pieces.add(dropped + piece.getData().toStringUtf8());
    }
    return pieces;
  }
}
