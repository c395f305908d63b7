package io.tensorflowignite.agent;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.tensorflowignite.job.CodeStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The code archives that this node's agent unpacks, as files; only while attempts run here. They
 * lie in the agent's own directory, which the agent removes also when this process was killed.
 */
final class CodeArchives {
  private final Path directory;
  private final CodeStore code;

  /**
   * @param agentDirectory exists while an agent runs; it is not made here.
   */
  CodeArchives(Path agentDirectory, CodeStore code) {
    this.directory = agentDirectory.resolve("archives");
    this.code = code;
  }

  /** The archive's file, fetched from the cluster unless it is here. */
  Path file(String digest) throws IOException {
    if (!Files.exists(directory)) {
      Files.createDirectory(directory);
    }
    Path file = directory.resolve(digest + ".zip");
    code.copyTo(digest, file);
    return file;
  }

  /** Removes every file; attempts that come later fetch theirs again. */
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
