package io.tensorflowignite.api;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.common.base.Strings;
import io.tensorflowignite.v1.LogChunk;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Test;

public class StoredLogTest {
  @Test
  public void piecesAreTheWholeOutputAndEndAtLineEnds() throws IOException {
    String text = Strings.repeat(Strings.repeat("x", 99) + "\n", 2_000) + "no line end";
    List<String> pieces = pieces(text, null, 0);
    assertEquals(text, String.join("", pieces));
    assertTrue(pieces.size() > 2);
    pieces.subList(0, pieces.size() - 1).forEach(piece -> assertTrue(piece.endsWith("\n")));
  }

  @Test
  public void lineThatIsLongerThanAPieceIsCut() throws IOException {
    String text = Strings.repeat("x", 200_000);
    assertEquals(text, String.join("", pieces(text, null, 0)));
  }

  @Test
  public void whatWasReadBeforeIsNotReadAgain() throws IOException {
    assertEquals(Collections.singletonList("two\n"), pieces("one\ntwo\n", null, 4));
    assertEquals(Collections.emptyList(), pieces("one\ntwo\n", null, 8));
  }

  @Test
  public void droppedOutputIsToldWhereItWasDropped() throws IOException {
    assertEquals(Arrays.asList("one\n", "[7 dropped]two\n"), pieces("one\ntwo\n", gap(4, 7), 0));
    assertEquals(Collections.singletonList("[7 dropped]two\n"), pieces("one\ntwo\n", gap(4, 7), 4));
    assertEquals(Collections.singletonList("wo\n"), pieces("one\ntwo\n", gap(4, 7), 5));
    assertEquals(Collections.singletonList("[7 dropped]one\n"), pieces("one\n", gap(0, 7), 0));
  }

  private static LogChunk gap(long position, long bytes) {
    return LogChunk.newBuilder().setSequence(position).setDroppedBytes(bytes).build();
  }

  private static List<String> pieces(String text, LogChunk gap, long position) throws IOException {
    StoredLog log =
        new StoredLog(
            new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)), gap, position);
    List<String> pieces = new ArrayList<>();
    for (LogChunk piece = log.next(); piece != null; piece = log.next()) {
      String dropped =
          piece.getDroppedBytes() > 0 ? "[" + piece.getDroppedBytes() + " dropped]" : "";
      pieces.add(dropped + piece.getData().toStringUtf8());
    }
    return pieces;
  }
}
