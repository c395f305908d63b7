package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import org.junit.Test;

public class FilePathTest {
  private static final String PART_255 = String.join("", Collections.nCopies(51, "ÿ+ü"));

  @Test
  public void theRootHasNoParts() {
    FilePath root = FilePath.parse("/");
    assertTrue(root.isRoot());
    assertEquals("", root.name());
    assertEquals("/", root.toString());
  }

  @Test
  public void everythingElseInANameIsKept() {
    String text = "/a b/100%/%2F/ä ö/😀/.hidden/...//".replace("//", "") + "/tab\tnewline\n\\ *?";
    FilePath path = FilePath.parse(text);
    assertEquals(
        Arrays.asList("a b", "100%", "%2F", "ä ö", "😀", ".hidden", "...", "tab\tnewline\n\\ *?"),
        path.parts());
    assertEquals("tab\tnewline\n\\ *?", path.name());
    assertEquals("/a b/100%", path.upTo(2));
    assertEquals(text, path.toString());
  }

  @Test
  public void invalidPathsAreRejectedWithTheRule() {
    String part = String.join("", Collections.nCopies(255, "x"));
    String longest = String.join("", Collections.nCopies(16, "/" + part));
    assertEquals(4096, longest.length());
    assertEquals(16, FilePath.parse(longest).parts().size());
    assertEquals(255, PART_255.getBytes(StandardCharsets.UTF_8).length);
    FilePath.parse("/" + PART_255);
    for (String bad :
        Arrays.asList(
            "",
            "a",
            "a/b",
            "//",
            "/a/",
            "/a//b",
            "/.",
            "/a/..",
            "/a/./b",
            "/a\0b",
            "/\ud83d",
            longest + "/x",
            "/" + part + "x",
            "/" + PART_255 + "x")) {
      TensorFlowIgniteException error =
          assertThrows(bad, TensorFlowIgniteException.class, () -> FilePath.parse(bad));
      assertEquals(ERROR_CODE_INVALID_REQUEST, error.code());
      assertTrue(error.getMessage(), error.getMessage().contains("at most 4,096 bytes"));
      assertTrue(error.getMessage(), error.getMessage().length() < 600);
    }
  }
}
