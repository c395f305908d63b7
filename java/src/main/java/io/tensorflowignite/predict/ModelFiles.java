package io.tensorflowignite.predict;

import static io.tensorflowignite.v1.FileKind.FILE_KIND_DIRECTORY;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.tensorflowignite.base.ModelPaths;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.ModelKey;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The files of the versions that this node serves, copied from the cluster into the agent's
 * directory. So a model process needs no access to the cluster, and has no credentials.
 */
final class ModelFiles {
  private static final int PIECE_BYTES = 1 << 20;

  private final Path directory;
  private final Storage storage;

  /**
   * @param agentDirectory the agent's directory, which exists while an agent runs
   */
  ModelFiles(Path agentDirectory, Storage storage) {
    this.directory = agentDirectory.resolve("versions");
    this.storage = storage;
  }

  /**
   * Returns the directory of a version; copies it if it is not here.
   *
   * @param continues called after each piece of {@link #PIECE_BYTES}; false ends the copy
   * @return empty: the copy has ended before its last piece
   */
  Optional<Path> copy(ModelKey key, BooleanSupplier continues) throws IOException {
    Path target = target(key);
    if (!Files.exists(target)) {
      Path part = directory.resolve(target.getFileName() + ".part");
      delete(part);
      if (!copy(ModelPaths.version(key.getName(), key.getNumber()), part, continues)) {
        delete(part);
        return Optional.empty();
      }
      Files.move(part, target);
    }
    return Optional.of(target);
  }

  /** Gives a version the label that its name alone means. */
  void label(String name, long number) {
    try (StorageOutput label =
        new StorageOutput(storage, ModelPaths.label(name, ModelPaths.STABLE))) {
      label.write(Long.toString(number).getBytes(StandardCharsets.US_ASCII));
    }
  }

  void remove(ModelKey key) throws IOException {
    delete(target(key));
  }

  private Path target(ModelKey key) {
    return directory.resolve(key.getName() + ":" + key.getNumber());
  }

  private boolean copy(String from, Path to, BooleanSupplier continues) throws IOException {
    List<FileInfo> entries = new ArrayList<>();
    storage.tree().list(from, entries::addAll);
    Files.createDirectories(to);
    for (FileInfo entry : entries) {
      String name = entry.getPath().substring(entry.getPath().lastIndexOf('/') + 1);
      String path = from + "/" + name;
      if (entry.getKind() == FILE_KIND_DIRECTORY) {
        if (!copy(path, to.resolve(name), continues)) {
          return false;
        }
        continue;
      }
      byte[] piece = new byte[PIECE_BYTES];
      try (StorageInput file = new StorageInput(storage, path);
          OutputStream written = Files.newOutputStream(to.resolve(name))) {
        for (int read = file.read(piece); read >= 0; read = file.read(piece)) {
          written.write(piece, 0, read);
          if (!continues.getAsBoolean()) {
            return false;
          }
        }
      }
    }
    return true;
  }

  private static void delete(Path path) throws IOException {
    if (Files.exists(path)) {
      MoreFiles.deleteRecursively(path, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }
}
