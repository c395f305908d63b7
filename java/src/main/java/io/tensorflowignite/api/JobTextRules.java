package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Prediction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * Rules for the texts of a job, which become a command line, an environment, a row on every node,
 * and lines of logs.
 */
final class JobTextRules {
  /** Linux limits one argument, or one variable with its name, to 128 KiB. */
  private static final int MAX_ARGUMENT = 100_000;

  private static final int MAX_SPEC = 1_000_000;

  private JobTextRules() {}

  static void check(JobSpec spec) {
    if (spec.getSerializedSize() > MAX_SPEC) {
      throw invalid(
          "The job's specification has %,d bytes. At most %,d are allowed, with all arguments and"
              + " variables. Put long texts into a file of the code, or of the cluster.",
          spec.getSerializedSize(), MAX_SPEC);
    }
    requireLine("name", spec.getName());
    requireLine("checkpoint directory", spec.getCheckpointDirectory());
    requireNoOuterBlanks(spec.getCheckpointDirectory());
    for (String directory : spec.getMoreDirectoriesList()) {
      requireLine("further directory", directory);
      requireNoOuterBlanks(directory);
      requireOfTheCluster(directory);
    }
    requireLine("cache", spec.getCache());
    spec.getMoreCachesList().forEach(cache -> requireLine("cache", cache));
    Prediction prediction = spec.getPrediction();
    requireLine("output cache", prediction.getOutputCache());
    requireLine("model", prediction.getModel());
    if (!prediction.getModelDirectory().isEmpty()) {
      requireLine("directory of the model", prediction.getModelDirectory());
      requireNoOuterBlanks(prediction.getModelDirectory());
      requireOfTheCluster(prediction.getModelDirectory());
    }
    requireInside("script", spec.getScript());
    requireInside("script of the evaluator", spec.getEvaluator().getScript());
    requireLine("cache for the evaluation", spec.getEvaluator().getCache());
    requireInside("file of requirements", spec.getRequirements());
    spec.getWheelsList().forEach(wheel -> requireInside("wheel", wheel));
    requireLine("interpreter", spec.getPython());
    requireInterpreter(spec.getPython());
    Stream.of(
            spec.getArgsList().stream(),
            spec.getEnvMap().values().stream(),
            spec.getRoleEnvList().stream().flatMap(role -> role.getEnvMap().values().stream()))
        .flatMap(texts -> texts)
        .forEach(JobTextRules::requireArgument);
  }

  private static void requireLine(String field, String text) {
    if (text.chars().anyMatch(letter -> Character.isISOControl(letter))) {
      throw invalid(
          "The job's %s '%s' has control characters. It must be one line of text. Remove them.",
          field, text.replaceAll("\\p{Cntrl}", "?"));
    }
  }

  /** A program that strips them uses another directory than the rules have checked. */
  private static void requireNoOuterBlanks(String directory) {
    if (!directory.equals(directory.strip())) {
      throw invalid(
          "The job's directory '%s' begins or ends with a blank. It must be the same"
              + " directory for every program that reads the text. Remove the blank.",
          directory);
    }
  }

  private static void requireOfTheCluster(String directory) {
    if (JobPaths.path(directory).isEmpty()) {
      throw invalid(
          "The job's further directory '%s' is not one of the cluster's files. Its address begins"
              + " with ignite:///. Set more_directories to such addresses, or leave it out: the"
              + " cluster does not guard other storage.",
          directory);
    }
    if (Arrays.asList(directory.split("/")).contains("..")) {
      throw invalid(
          "The job's further directory '%s' has a part '..'. The tasks get the permission for one"
              + " directory, which its address names without '..'. Set more_directories to such"
              + " addresses.",
          directory);
    }
  }

  private static void requireInside(String field, String path) {
    requireLine(field, path);
    if (path.startsWith("/") || Arrays.asList(path.split("/")).contains("..")) {
      throw invalid(
          "The job's %s is '%s'. It must be a path inside the code archive, without '..'. Set it to"
              + " such a path.",
          field, path);
    }
  }

  private static void requireInterpreter(String path) {
    if (!path.isEmpty() && !path.startsWith("/")) {
      throw invalid(
          "The job's interpreter is '%s'. It must be an absolute path, the same on every node. Set"
              + " python to such a path.",
          path);
    }
  }

  private static void requireArgument(String text) {
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (text.indexOf('\0') >= 0 || bytes > MAX_ARGUMENT) {
      throw invalid(
          "An argument or variable of the job has %,d bytes%s. At most %,d are allowed, and no NUL,"
              + " since the operating system has these limits. Put long texts into a file of the"
              + " code.",
          bytes, text.indexOf('\0') >= 0 ? " and a NUL" : "", MAX_ARGUMENT);
    }
  }

  private static TensorFlowIgniteException invalid(String text, Object... values) {
    return TensorFlowIgniteException.of(ERROR_CODE_INVALID_REQUEST, text, values);
  }
}
