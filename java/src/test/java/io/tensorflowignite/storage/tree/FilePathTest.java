package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.Test;

public class FilePathTest {
  private static final String PART_255 = "ÿ+ü".repeat(51);

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
        List.of("a b", "100%", "%2F", "ä ö", "😀", ".hidden", "...", "tab\tnewline\n\\ *?"),
        path.parts);
    assertEquals("tab\tnewline\n\\ *?", path.name());
    assertEquals("/a b/100%", path.upTo(2));
    assertEquals(text, path.toString());
  }

  @Test
  public void invalidPathsAreRejectedWithTheRule() {
    String part = "x".repeat(255);
    String longest = ("/" + part).repeat(16);
    assertEquals(4096, longest.length());
    assertEquals(16, FilePath.parse(longest).parts.size());
    assertEquals(255, PART_255.getBytes(StandardCharsets.UTF_8).length);
    FilePath.parse("/" + PART_255);
    for (String bad :
        List.of(
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
      String text =
          assertRefused(
              ERROR_CODE_INVALID_REQUEST, () -> FilePath.parse(bad), "at most 4,096 bytes");
      assertTrue(text, text.length() < 600);
    }
  }
}
