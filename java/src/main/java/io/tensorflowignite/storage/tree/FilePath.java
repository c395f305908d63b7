package io.tensorflowignite.storage.tree;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** An absolute path that keeps the rules, in its parts. */
public final class FilePath {
  private static final int MAX_BYTES = 4096;
  private static final int MAX_PART_BYTES = 255;

  /**
   * The order of the bytes of names: UTF-16 alone would sort what lies beyond its plane too early.
   */
  static final Comparator<String> NAME_ORDER = FilePath::compareNames;

  private final String text;
  private final List<String> parts;

  private FilePath(String text, List<String> parts) {
    this.text = text;
    this.parts = parts;
  }

  /** INVALID_REQUEST when it breaks a rule. */
  public static FilePath parse(String text) {
    if (!text.startsWith("/")) {
      throw invalid(text, "it does not begin with a slash");
    }
    if (text.length() > MAX_BYTES || bytes(text) > MAX_BYTES) {
      throw invalid(text.substring(0, 80) + "…", "it is too long");
    }
    if (text.indexOf('\0') >= 0) {
      throw invalid(text.replace('\0', '?'), "it has a NUL in it");
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

  public List<String> parts() {
    return parts;
  }

  /** The last part; empty for the root. */
  public String name() {
    return isRoot() ? "" : parts.get(parts.size() - 1);
  }

  /** The path of its first parts. */
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

  private static int compareNames(String one, String other) {
    int common = Math.min(one.length(), other.length());
    for (int i = 0; i < common; i++) {
      char a = one.charAt(i);
      char b = other.charAt(i);
      if (a != b) {
        boolean beyond = Character.isSurrogate(a);
        return beyond == Character.isSurrogate(b) ? a - b : beyond ? 1 : -1;
      }
    }
    return one.length() - other.length();
  }

  private static TensorFlowIgniteException invalid(String text, String why) {
    return new TensorFlowIgniteException(
        ErrorCode.INVALID_REQUEST,
        String.format(
            "'%s' is no path: %s. A path is absolute and of at most %,d bytes of UTF-8; its parts"
                + " have 1 to %d bytes, are neither '.' nor '..', and stand one slash apart."
                + " Correct it.",
            text, why, MAX_BYTES, MAX_PART_BYTES));
  }
}
