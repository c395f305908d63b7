package io.tensorflowignite.plain;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_INVALID;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_NOT_FOUND;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.JobSpec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** The code of a job: files by their names, and the zip archive that a node unpacks. */
final class PlainCode {
  private static final List<String> DEFAULT_SCRIPTS = List.of("main.py", "train.py");
  private static final int MAX_FILES = 20_000;
  private static final int MAX_NAME = 1_024;
  private static final int MAX_SHOWN = 10;

  /** Nodes unpack no more. */
  private static final long MAX_BYTES = 256L << 20;

  /** The same files are the same archive, which the cluster stores once. */
  private static final LocalDateTime TIME = LocalDateTime.of(1980, 1, 1, 0, 0);

  private final Map<String, byte[]> files = new TreeMap<>();

  /**
   * @param given texts or bytes by their names
   * @throws TensorFlowIgniteException CODE_INVALID: a name or a content is none
   */
  PlainCode(Map<String, ?> given) {
    if (given.size() > MAX_FILES) {
      throw invalid(
          "The code has %,d files. At most %,d are allowed. Keep data in a cache.",
          given.size(), MAX_FILES);
    }
    given.forEach((name, content) -> files.put(checked(name), bytes(name, content)));
    long size = files.values().stream().mapToLong(content -> content.length).sum();
    if (size > MAX_BYTES) {
      throw invalid(
          "The code has %,d bytes. At most %,d are allowed. Keep data in a cache.",
          size, MAX_BYTES);
    }
    for (String name : files.keySet()) {
      for (int end = name.indexOf('/'); end > 0; end = name.indexOf('/', end + 1)) {
        if (files.containsKey(name.substring(0, end))) {
          throw invalid(
              "The code has '%s' as a file and as the folder of '%s'. A name is one of them."
                  + " Rename one.",
              name.substring(0, end), name);
        }
      }
    }
  }

  private static String checked(String name) {
    boolean isGood =
        name != null
            && Arrays.stream(name.split("/", -1))
                .noneMatch(part -> part.isEmpty() || part.equals(".") || part.equals(".."))
            && name.chars().noneMatch(letter -> letter == '\\' || Character.isISOControl(letter))
            && name.length() <= MAX_NAME
            && StandardCharsets.UTF_8.newEncoder().canEncode(name);
    if (!isGood) {
      throw invalid(
          "The code has a file named '%.200s'. A name is a relative path of at most %,d characters,"
              + " with '/' between its parts, without '.', '..', backslashes, control characters"
              + " and incomplete characters. Rename the file.",
          name, MAX_NAME);
    }
    return name;
  }

  private static byte[] bytes(String name, Object content) {
    if (content instanceof String) {
      return ((String) content).getBytes(StandardCharsets.UTF_8);
    }
    if (content instanceof byte[]) {
      return (byte[]) content;
    }
    throw invalid(
        "The content of the file '%s' is of the class %s. It is a String or a byte[]. Give one of"
            + " them.",
        name, content == null ? "null" : content.getClass().getSimpleName());
  }

  /**
   * Completes a specification: its script and its name.
   *
   * @throws TensorFlowIgniteException CODE_NOT_FOUND: the files have no such script, or another
   *     file that the specification names
   */
  void complete(JobSpec.Builder spec) {
    if (spec.getScript().isEmpty()) {
      spec.setScript(script());
    }
    List<String> named = new ArrayList<>(spec.getEnvironment().getWheelsList());
    named.add(spec.getScript());
    named.add(spec.getEvaluator().getScript());
    named.add(spec.getEnvironment().getRequirements());
    named.stream().filter(name -> !name.isEmpty()).forEach(this::require);
    if (spec.getName().isEmpty()) {
      String file = spec.getScript().substring(spec.getScript().lastIndexOf('/') + 1);
      int dot = file.lastIndexOf('.');
      spec.setName(dot > 0 ? file.substring(0, dot) : file);
    }
  }

  private String script() {
    if (files.size() == 1) {
      return files.keySet().iterator().next();
    }
    return DEFAULT_SCRIPTS.stream()
        .filter(files::containsKey)
        .findFirst()
        .orElseThrow(
            () ->
                notFound(
                    "The code has neither main.py nor train.py. A job runs one script. Name it by"
                        + " the option script; the files are: %s.",
                    some()));
  }

  private void require(String name) {
    if (!files.containsKey(name)) {
      throw notFound(
          "The code has no file '%s'. The options script, evaluator.script,"
              + " environment.requirements and environment.wheels name files of the code. Name"
              + " one of: %s.",
          name, some());
    }
  }

  private String some() {
    return files.isEmpty()
        ? "none"
        : files.keySet().stream().limit(MAX_SHOWN).collect(Collectors.joining(", "))
            + (files.size() > MAX_SHOWN ? ", …" : "");
  }

  byte[] archive() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream archive = new ZipOutputStream(bytes)) {
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        ZipEntry entry = new ZipEntry(file.getKey());
        entry.setTimeLocal(TIME);
        archive.putNextEntry(entry);
        archive.write(file.getValue());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static TensorFlowIgniteException invalid(String format, Object... values) {
    return TensorFlowIgniteException.of(ERROR_CODE_CODE_INVALID, format, values);
  }

  private static TensorFlowIgniteException notFound(String format, Object... values) {
    return TensorFlowIgniteException.of(ERROR_CODE_CODE_NOT_FOUND, format, values);
  }
}
