package io.tensorflowignite.security;

import io.tensorflowignite.job.JobFiles;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.TaskKey;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the token of a task opens: what its job names, and nothing else. */
final class TaskScope {
  private final TaskKey task;
  private final Set<String> caches;
  private final List<String> directories;

  private TaskScope(TaskKey task, Set<String> caches, List<String> directories) {
    this.task = task;
    this.caches = caches;
    this.directories = directories;
  }

  static TaskScope of(TaskKey task, Job job) {
    JobSpec spec = job.getSpec();
    Set<String> caches = new HashSet<>(spec.getMoreCachesList());
    caches.add(spec.getCache());
    List<String> directories =
        Stream.concat(
                Stream.of(JobFiles.directory(job.getId())),
                JobFiles.path(spec.getCheckpointDirectory()).map(Stream::of).orElseGet(Stream::of))
            .collect(Collectors.toList());
    return new TaskScope(task, caches, directories);
  }

  TaskKey task() {
    return task;
  }

  boolean hasJob(String id) {
    return task.getJobId().equals(id);
  }

  boolean reads(String cache) {
    return caches.contains(cache);
  }

  boolean usesFile(String path) {
    return directories.stream().anyMatch(directory -> isIn(path, directory));
  }

  /** Whether a path leads to the files that it uses. */
  boolean leadsThrough(String path) {
    return directories.stream().anyMatch(directory -> isIn(directory, path));
  }

  private static boolean isIn(String path, String directory) {
    return path.equals(directory)
        || path.startsWith(directory.endsWith("/") ? directory : directory + "/");
  }

  /** What it opens, for who is refused. */
  Optional<String> told(Permission permission) {
    switch (permission) {
      case READ:
        return Optional.of("reads the caches " + String.join(", ", caches));
      case FILES:
      case FILES_READ:
        return Optional.of("uses files below " + String.join(" and ", directories));
      default:
        return Optional.empty();
    }
  }
}
