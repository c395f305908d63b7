package io.tensorflowignite.job.decide;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Paths of jobs' files in the cluster's storage. */
public final class JobPaths {
  private static final String SCHEME = "ignite://";
  private static final String JOBS = "/jobs/";
  private static final String ARCHIVE = ".zip";

  /** The scheme in upper or lower case, optionally hosts, and the path. */
  private static final Pattern ADDRESS =
      Pattern.compile("ignite:(?://([^/]*))?(.*)", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  /** The directory of all code archives. */
  public static final String CODE = "/code";

  private JobPaths() {}

  /** The directory of all files of one job. */
  public static String directory(String jobId) {
    return JOBS + jobId;
  }

  /**
   * The default address of a job's checkpoints. It has no host: every task calls its own node, and
   * a node's address ends with the node.
   */
  public static String checkpoints(String jobId) {
    return SCHEME + directory(jobId) + "/checkpoints";
  }

  /** The file of a task's output, which is written when the job has ended. */
  public static String log(TaskKey task) {
    return String.format(
        "%s/logs/attempt-%d/%s-%d.%d.log",
        directory(task.getJobId()),
        task.getAttempt(),
        MessageText.role(task.getRole()),
        task.getIndex(),
        task.getIncarnation());
  }

  /**
   * The address of a profile's files: below the event files of the job, where TensorBoard expects
   * profiles.
   */
  public static String profile(String jobId, String profileId) {
    return SCHEME + directory(jobId) + "/tensorboard/plugins/profile/" + profileId;
  }

  /** The directory of files with the names of the models that the job's tasks have exported. */
  public static String exports(String jobId) {
    return directory(jobId) + "/exports";
  }

  public static String code(String digest) {
    return CODE + "/" + digest + ARCHIVE;
  }

  /** The digest of the code archive with this file name. */
  public static String digest(String name) {
    return name.endsWith(ARCHIVE) ? name.substring(0, name.length() - ARCHIVE.length()) : name;
  }

  /**
   * The path of an {@code ignite:} address, as the clients of the cluster's files read it: repeated
   * slashes, {@code .} and {@code ..} are resolved, and all other characters belong to names, also
   * {@code %} and blanks. Empty for an address of other storage.
   */
  public static Optional<String> path(String address) {
    Matcher matcher = ADDRESS.matcher(address);
    return matcher.matches() ? Optional.of(normalized(matcher.group(2))) : Optional.empty();
  }

  /** The one form of all {@code ignite:} addresses of a path; other addresses stay unchanged. */
  public static String canonical(String address) {
    Matcher matcher = ADDRESS.matcher(address);
    return matcher.matches()
        ? SCHEME + Optional.ofNullable(matcher.group(1)).orElse("") + normalized(matcher.group(2))
        : address;
  }

  /** Whether an address, with or without a host, is one of a job's files. */
  static boolean isIn(String address, String jobId) {
    return path(address).map(path -> (path + "/").startsWith(directory(jobId) + "/")).orElse(false);
  }

  private static String normalized(String path) {
    Deque<String> parts = new ArrayDeque<>();
    for (String part : path.split("/")) {
      if (part.equals("..")) {
        parts.pollLast();
      } else if (!part.isEmpty() && !part.equals(".")) {
        parts.addLast(part);
      }
    }
    return "/" + String.join("/", parts);
  }
}
