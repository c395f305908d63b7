package io.tensorflowignite.job;

/** Where the files of jobs lie in the cluster's storage. */
public final class JobFiles {
  private static final String SCHEME = "ignite:";
  private static final String JOBS = "/jobs/";

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

  /** Whether an address of files leads to those of a job, through whichever node. */
  static boolean isIn(String address, String jobId) {
    return address.startsWith(SCHEME) && (address + "/").contains(directory(jobId) + "/");
  }
}
