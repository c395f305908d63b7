package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

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
      throw invalidRequest(
          "The job's specification has %,d bytes. At most %,d are allowed, with all arguments and"
              + " variables. Put long texts into a file of the code, or of the cluster.",
          spec.getSerializedSize(), MAX_SPEC);
    }
    requireLine("name", spec.getName());
    requireLine("checkpoint_directory", spec.getCheckpointDirectory());
    requireNoOuterBlanks("checkpoint_directory", spec.getCheckpointDirectory());
    for (String directory : spec.getAccess().getDirectoriesList()) {
      requireLine("access.directories", directory);
      requireNoOuterBlanks("access.directories", directory);
      requireOfTheCluster("access.directories", directory);
    }
    requireLine("cache", spec.getCache());
    spec.getAccess().getCachesList().forEach(cache -> requireLine("access.caches", cache));
    Prediction prediction = spec.getPrediction();
    requireLine("prediction.output_cache", prediction.getOutputCache());
    requireLine("prediction.model", prediction.getModel());
    if (!prediction.getModelDirectory().isEmpty()) {
      requireLine("prediction.model_directory", prediction.getModelDirectory());
      requireNoOuterBlanks("prediction.model_directory", prediction.getModelDirectory());
      requireOfTheCluster("prediction.model_directory", prediction.getModelDirectory());
    }
    requireInside("script", spec.getScript());
    requireInside("evaluator.script", spec.getEvaluator().getScript());
    requireLine("evaluator.cache", spec.getEvaluator().getCache());
    requireInside("environment.requirements", spec.getEnvironment().getRequirements());
    spec.getEnvironment()
        .getWheelsList()
        .forEach(wheel -> requireInside("environment.wheels", wheel));
    requireLine("environment.python", spec.getEnvironment().getPython());
    requireInterpreter(spec.getEnvironment().getPython());
    Stream.concat(
            spec.getArgsList().stream(), spec.getEnvironment().getVariablesMap().values().stream())
        .forEach(JobTextRules::requireArgument);
  }

  private static void requireLine(String field, String text) {
    if (text.chars().anyMatch(letter -> Character.isISOControl(letter))) {
      throw invalidRequest(
          "%s '%s' has control characters. It is one line of text. Remove them.",
          field, text.replaceAll("\\p{Cntrl}", "?"));
    }
  }

  /** A program that strips them uses another directory than the rules have checked. */
  private static void requireNoOuterBlanks(String field, String directory) {
    if (!directory.equals(directory.strip())) {
      throw invalidRequest(
          "%s '%s' begins or ends with a blank. It must be the same directory for every program"
              + " that reads the text. Remove the blank.",
          field, directory);
    }
  }

  private static void requireOfTheCluster(String field, String directory) {
    if (JobPaths.path(directory).isEmpty()) {
      throw invalidRequest(
          "%s '%s' is not one of the cluster's files. Its address begins with ignite:///. Name it"
              + " so, or leave it out: the cluster does not guard other storage.",
          field, directory);
    }
    if (Arrays.asList(directory.split("/")).contains("..")) {
      throw invalidRequest(
          "%s '%s' has a part '..'. The tasks get the permission for one directory, which its"
              + " address names without '..'. Name that directory, such as ignite:///models/trips.",
          field, directory);
    }
  }

  private static void requireInside(String field, String path) {
    requireLine(field, path);
    if (path.startsWith("/") || Arrays.asList(path.split("/")).contains("..")) {
      throw invalidRequest(
          "%s is '%s'. It must be a path inside the code archive, without '..'. Set another path.",
          field, path);
    }
  }

  private static void requireInterpreter(String path) {
    if (!path.isEmpty() && !path.startsWith("/")) {
      throw invalidRequest(
          "environment.python is '%s'. It must be the absolute path of an interpreter, the same on"
              + " every node. Set another path.",
          path);
    }
  }

  private static void requireArgument(String text) {
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (text.indexOf('\0') >= 0 || bytes > MAX_ARGUMENT) {
      throw invalidRequest(
          "An argument or variable of the job has %,d bytes%s. At most %,d are allowed, and no NUL,"
              + " since the operating system has these limits. Put long texts into a file of the"
              + " code.",
          bytes, text.indexOf('\0') >= 0 ? " and a NUL" : "", MAX_ARGUMENT);
    }
  }
}
