package io.tensorflowignite.api;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.JobSpec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * What the texts of a job must keep to, since they become a command line, an environment, a row
 * that every node holds, and lines of logs.
 */
final class JobTexts {
  /** Linux takes 128 KiB of one argument, its name and its end included. */
  private static final int MAX_ARGUMENT = 100_000;

  private static final int MAX_SPEC = 1_000_000;

  private JobTexts() {}

  static void check(JobSpec spec) {
    if (spec.getSerializedSize() > MAX_SPEC) {
      throw invalid(
          "The job's specification has %,d bytes. It has at most %,d, with all arguments and"
              + " variables. Put what is long into a file of the code, or of the cluster.",
          spec.getSerializedSize(), MAX_SPEC);
    }
    requireLine("name", spec.getName());
    requireLine("script", spec.getScript());
    requireLine("checkpoint directory", spec.getCheckpointDirectory());
    requireLine("cache", spec.getCache());
    spec.getMoreCachesList().forEach(cache -> requireLine("cache", cache));
    requireInside(spec.getScript());
    Stream.concat(spec.getArgsList().stream(), spec.getEnvMap().values().stream())
        .forEach(JobTexts::requireArgument);
  }

  private static void requireLine(String what, String text) {
    if (text.chars().anyMatch(letter -> Character.isISOControl(letter))) {
      throw invalid(
          "The job's %s '%s' has control characters in it. It is one line of text. Leave them out.",
          what, text.replaceAll("\\p{Cntrl}", "?"));
    }
  }

  private static void requireInside(String script) {
    if (script.startsWith("/") || Arrays.asList(script.split("/")).contains("..")) {
      throw invalid(
          "The job's script is '%s'. It is a path inside the code archive, without '..'. Name one"
              + " that is in it.",
          script);
    }
  }

  private static void requireArgument(String text) {
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (text.indexOf('\0') >= 0 || bytes > MAX_ARGUMENT) {
      throw invalid(
          "An argument or variable of the job has %,d bytes%s. It has at most %,d, and no NUL, as"
              + " the operating system wants it. Put what is long into a file of the code.",
          bytes, text.indexOf('\0') >= 0 ? " and a NUL" : "", MAX_ARGUMENT);
    }
  }

  private static TensorFlowIgniteException invalid(String text, Object... values) {
    return new TensorFlowIgniteException(ErrorCode.INVALID_REQUEST, String.format(text, values));
  }
}
