package io.tensorflowignite.security.decide;

import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The caches and directories that a task may use: only those that its job names. */
public final class TaskScope {
  public final TaskKey task;
  private final Set<String> caches;
  private final String outputCache;
  private final List<String> directories;
  private final List<String> readDirectories;

  private TaskScope(
      TaskKey task,
      Set<String> caches,
      String outputCache,
      List<String> directories,
      List<String> readDirectories) {
    this.task = task;
    this.caches = caches;
    this.outputCache = outputCache;
    this.directories = directories;
    this.readDirectories = readDirectories;
  }

  public static TaskScope of(TaskKey task, Job job) {
    JobSpec spec = job.getSpec();
    Set<String> caches = new HashSet<>(spec.getAccess().getCachesList());
    caches.add(spec.getCache());
    if (!spec.getEvaluator().getCache().isEmpty()) {
      caches.add(spec.getEvaluator().getCache());
    }
    List<String> directories =
        Stream.concat(
                Stream.of(JobPaths.directory(job.getId())),
                Stream.concat(
                        Stream.of(spec.getCheckpointDirectory()),
                        spec.getAccess().getDirectoriesList().stream())
                    .flatMap(address -> JobPaths.path(address).stream()))
            .collect(Collectors.toList());
    String output = spec.getPrediction().getOutputCache();
    List<String> readDirectories = new ArrayList<>(directories);
    JobPaths.path(spec.getPrediction().getModelDirectory()).ifPresent(readDirectories::add);
    return new TaskScope(task, caches, output, directories, readDirectories);
  }

  public boolean hasJob(String id) {
    return task.getJobId().equals(id);
  }

  public boolean reads(String cache) {
    return caches.contains(cache);
  }

  public boolean writes(String cache) {
    return !outputCache.isEmpty() && outputCache.equals(cache);
  }

  public boolean usesFile(String path) {
    return directories.stream().anyMatch(directory -> isIn(path, directory));
  }

  public boolean readsFile(String path) {
    return readDirectories.stream().anyMatch(directory -> isIn(path, directory));
  }

  /** Whether a path leads to the directories of the scope. */
  public boolean leadsThrough(String path) {
    return readDirectories.stream().anyMatch(directory -> isIn(directory, path));
  }

  private static boolean isIn(String path, String directory) {
    return path.equals(directory)
        || path.startsWith(directory.endsWith("/") ? directory : directory + "/");
  }

  /** The scope of a permission, for errors. */
  public Optional<String> describe(Permission permission) {
    switch (permission) {
      case READ:
        return Optional.of("reads only the caches " + String.join(", ", caches));
      case WRITE:
        return Optional.of(
            "writes rows only into the output cache of a job of kind predict"
                + (outputCache.isEmpty() ? "" : ", here " + outputCache));
      case FILES:
        return Optional.of("uses only files below " + String.join(" and ", directories));
      case FILES_READ:
        return Optional.of("uses only files below " + String.join(" and ", readDirectories));
      default:
        return Optional.empty();
    }
  }
}
