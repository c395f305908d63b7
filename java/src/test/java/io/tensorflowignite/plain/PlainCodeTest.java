package io.tensorflowignite.plain;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_INVALID;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_NOT_FOUND;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.JobSpec;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipInputStream;
import org.junit.Test;

public class PlainCodeTest {
  @Test
  public void theSameFilesAreTheSameArchive() throws IOException {
    Map<String, Object> files = new LinkedHashMap<>();
    files.put("train.py", "print('ä')");
    files.put("lib/a.py", new byte[] {'1'});
    byte[] archive = new PlainCode(files).archive();
    Map<String, Object> others = new LinkedHashMap<>();
    others.put("lib/a.py", "1");
    others.put("train.py", "print('ä')".getBytes(StandardCharsets.UTF_8));
    assertArrayEquals(archive, new PlainCode(others).archive());
    ZipInputStream read = new ZipInputStream(new ByteArrayInputStream(archive));
    assertEquals("lib/a.py", read.getNextEntry().getName());
    assertEquals("1", new String(read.readAllBytes(), StandardCharsets.UTF_8));
    assertEquals("train.py", read.getNextEntry().getName());
    assertEquals("print('ä')", new String(read.readAllBytes(), StandardCharsets.UTF_8));
  }

  @Test
  public void theScriptIsTheOnlyFileOrHasADefaultName() {
    assertEquals("fit.py fit", completed(Map.of("fit.py", "")));
    assertEquals("main.py main", completed(Map.of("fit.py", "", "main.py", "", "train.py", "")));
    assertEquals("train.py train", completed(Map.of("fit.py", "", "train.py", "")));
    refuse(ERROR_CODE_CODE_NOT_FOUND, "the files are: a.py, b.py", Map.of("a.py", "", "b.py", ""));
    refuse(ERROR_CODE_CODE_NOT_FOUND, "neither main.py nor train.py", Map.of());
    JobSpec.Builder spec = JobSpec.newBuilder().setScript("b.py");
    assertRefused(
        ERROR_CODE_CODE_NOT_FOUND,
        () -> new PlainCode(Map.of("a.py", "")).complete(spec),
        "The code has no file 'b.py'");
  }

  @Test
  public void aFileThatCannotBeUnpackedIsRefused() {
    for (String name :
        new String[] {"", "/a", "a/", "a//b", "./a", "a/../b", "a\\b", "a\nb", "\uD800"}) {
      refuse(ERROR_CODE_CODE_INVALID, "A name is a relative path", Map.of(name, ""));
    }
    refuse(ERROR_CODE_CODE_INVALID, "as the folder of 'a/b'", Map.of("a", "", "a/b", ""));
    refuse(ERROR_CODE_CODE_INVALID, "is of the class Integer", Map.of("a", 1));
  }

  @Test
  public void codeThatNoNodeUnpacksIsRefusedBeforeItIsPacked() {
    byte[] content = new byte[1 << 20];
    Map<String, Object> files = new HashMap<>();
    for (int i = 0; i < 256; i++) {
      files.put("data/" + i, content);
    }
    new PlainCode(files);
    files.put("train.py", "#");
    refuse(ERROR_CODE_CODE_INVALID, "has 268,435,457 bytes. At most 268,435,456", files);
  }

  private static String completed(Map<String, ?> files) {
    JobSpec.Builder spec = JobSpec.newBuilder();
    new PlainCode(files).complete(spec);
    return spec.getScript() + " " + spec.getName();
  }

  private static void refuse(ErrorCode code, String text, Map<String, ?> files) {
    assertRefused(code, () -> completed(files), text);
  }
}
