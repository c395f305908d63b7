package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A valid absolute path, and its parts. */
public final class FilePath {
  private static final int MAX_BYTES = 4096;
  private static final int MAX_PART_BYTES = 255;

  private final String text;
  public final List<String> parts;

  private FilePath(String text, List<String> parts) {
    this.text = text;
    this.parts = parts;
  }

  /** Throws INVALID_REQUEST unless the path is valid. */
  public static FilePath parse(String text) {
    if (!text.startsWith("/")) {
      throw invalid(text, "it does not begin with a slash");
    }
    if (text.length() > MAX_BYTES || bytes(text) > MAX_BYTES) {
      throw invalid(text.substring(0, 80) + "…", "it is too long");
    }
    if (text.indexOf('\0') >= 0) {
      throw invalid(text.replace('\0', '?'), "it contains a NUL");
    }
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
      throw invalid(text, "it cannot be written in UTF-8");
    }
    if (text.equals("/")) {
      return new FilePath(text, Collections.emptyList());
    }
    List<String> parts = Arrays.asList(text.substring(1).split("/", -1));
    for (String part : parts) {
      if (part.isEmpty() || part.equals(".") || part.equals("..")) {
        throw invalid(text, "one of its parts is '" + part + "'");
      }
      if (bytes(part) > MAX_PART_BYTES) {
        throw invalid(text, "its part '" + part.substring(0, 40) + "…' is too long");
      }
    }
    return new FilePath(text, Collections.unmodifiableList(parts));
  }

  public boolean isRoot() {
    return parts.isEmpty();
  }

  /** The last part; empty for the root. */
  public String name() {
    return isRoot() ? "" : parts.get(parts.size() - 1);
  }

  /** The path of the first parts. */
  public String upTo(int count) {
    return "/" + String.join("/", parts.subList(0, count));
  }

  @Override
  public String toString() {
    return text;
  }

  private static int bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private static TensorFlowIgniteException invalid(String text, String reason) {
    return invalidRequest(
        "'%s' is no valid path: %s. A path is absolute and has at most %,d bytes of UTF-8; its"
            + " parts have 1 to %d bytes, are neither '.' nor '..', and are separated by one"
            + " slash. Use a path such as /models/a.",
        text, reason, MAX_BYTES, MAX_PART_BYTES);
  }
}
