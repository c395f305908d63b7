package io.tensorflowignite.agent;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.tensorflowignite.job.CodeStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The code archives that this node's agent unpacks, as files, while attempts run here. They are in
 * the agent's directory, which the agent removes even if this process was killed.
 */
final class CodeArchives {
  private final Path directory;
  private final CodeStore code;

  /**
   * @param agentDirectory the agent's directory, which exists while an agent runs.
   */
  CodeArchives(Path agentDirectory, CodeStore code) {
    this.directory = agentDirectory.resolve("archives");
    this.code = code;
  }

  /** Returns the archive's file; copies it from the cluster if it is missing. */
  Path file(String digest) throws IOException {
    if (!Files.exists(directory)) {
      Files.createDirectory(directory);
    }
    Path file = directory.resolve(digest + ".zip");
    code.copyTo(digest, file);
    return file;
  }

  /** Removes all files; later attempts copy theirs again. */
  void clear() {
    try {
      if (Files.exists(directory)) {
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("The code archives in " + directory + " cannot be removed", e);
    }
  }
}
