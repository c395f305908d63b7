package io.tensorflowignite.job;

import io.tensorflowignite.v1.TaskKey;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where the files of jobs lie in the cluster's storage. */
public final class JobFiles {
  private static final String SCHEME = "ignite:";
  private static final String JOBS = "/jobs/";
  private static final String ARCHIVE = ".zip";

  /** A host may stand between the scheme and the path, which may end in slashes. */
  private static final Pattern ADDRESS = Pattern.compile("ignite:(?://[^/]*)?/*(.*?)/*");

  /** Where all archives of code are. */
  static final String CODE = "/code";

  private JobFiles() {}

  /** Everything that belongs to one job. */
  public static String directory(String jobId) {
    return JOBS + jobId;
  }

  /**
   * Where a job keeps its checkpoints unless it says otherwise. No host stands in it: every task
   * asks its own node, and the address of a node may die with it.
   */
  public static String checkpoints(String jobId) {
    return SCHEME + "//" + directory(jobId) + "/checkpoints";
  }

  /** What a job's tasks have printed, once the job is over. */
  public static String log(TaskKey task) {
    return String.format(
        "%s/logs/attempt-%d/%s-%d.%d.log",
        directory(task.getJobId()),
        task.getAttempt(),
        Texts.role(task.getRole()),
        task.getIndex(),
        task.getIncarnation());
  }

  /** The archive of code with a digest. */
  static String code(String digest) {
    return CODE + "/" + digest + ARCHIVE;
  }

  /** The digest of the code that is in a file of this name. */
  static String digest(String name) {
    return name.endsWith(ARCHIVE) ? name.substring(0, name.length() - ARCHIVE.length()) : name;
  }

  /** The path of an address of files, of whichever cluster; empty: it is of other storage. */
  public static Optional<String> path(String address) {
    Matcher matcher = ADDRESS.matcher(address);
    return matcher.matches()
        ? Optional.of("/" + matcher.group(1).replaceAll("/+", "/"))
        : Optional.empty();
  }

  /** Whether an address of files leads to those of a job, through whichever node. */
  static boolean isIn(String address, String jobId) {
    return address.startsWith(SCHEME) && (address + "/").contains(directory(jobId) + "/");
  }
}
