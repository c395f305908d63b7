package io.tensorflowignite.job;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_INVALID;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;

import com.google.common.hash.Hashing;
import com.google.common.hash.HashingOutputStream;
import com.google.protobuf.Timestamp;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.job.decide.RetentionPolicy;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.Job;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collection;
import java.util.Set;
import java.util.stream.Collectors;

/** Code archives as files named by their digests: an archive is stored once, and only whole. */
public final class CodeStore {
  private static final int READS = 5;

  private final JobFileStore files;

  public CodeStore(JobFileStore files) {
    this.files = files;
  }

  public boolean contains(String digest) {
    return files.exists(JobPaths.code(digest));
  }

  /**
   * Opens an archive for writing; it exists when it is closed. An existing archive is replaced: its
   * blocks may be lost, and its age counts anew (see {@link RetentionPolicy}).
   */
  public StorageOutput write(String digest) {
    return files.write(JobPaths.code(digest));
  }

  /** Copies the archive to a file, unless the file exists; verifies the digest. */
  public void copyTo(String digest, Path file) throws IOException {
    if (Files.exists(file)) {
      return;
    }
    Path part = Files.createTempFile(file.getParent(), "code", ".part");
    try {
      String actual = read(digest, part);
      if (!actual.equals(digest)) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_CODE_INVALID,
            "The code archive %s has the digest %s when read. An archive is stored under its"
                + " digest. Submit the job again.",
            digest,
            actual);
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  /** Removes the archives that no job needs. */
  void removeUnused(RetentionPolicy retention, Collection<Job> jobs, Timestamp now) {
    Set<String> used =
        jobs.stream().map(job -> job.getSpec().getCodeDigest()).collect(Collectors.toSet());
    for (FileInfo file : files.list(JobPaths.CODE)) {
      String digest = JobPaths.digest(file.getPath());
      if (retention.isUnused(digest, file.getModifiedAt(), used, now)) {
        files.remove(JobPaths.code(digest));
      }
    }
  }

  /** Reads the archive into a file; returns the digest of its bytes. */
  private String read(String digest, Path file) throws IOException {
    for (int reads = 1; ; reads++) {
      try (StorageInput archive = files.read(JobPaths.code(digest));
          HashingOutputStream hashing =
              new HashingOutputStream(
                  Hashing.sha256(), new BufferedOutputStream(Files.newOutputStream(file)))) {
        archive.transferTo(hashing);
        return hashing.hash().toString();
      } catch (TensorFlowIgniteException e) {
        // The same archive was uploaded again meanwhile.
        if (e.code() != ERROR_CODE_FILE_CHANGED || reads == READS) {
          throw translate(digest, e);
        }
      }
    }
  }

  private static TensorFlowIgniteException translate(String digest, TensorFlowIgniteException e) {
    switch (e.code()) {
      case ERROR_CODE_FILE_NOT_FOUND:
      case ERROR_CODE_FILE_CORRUPT:
      case ERROR_CODE_FILE_LOST:
        return new TensorFlowIgniteException(
            ERROR_CODE_CODE_NOT_FOUND,
            String.format(
                "The code archive %s is missing from the cluster, or damaged: %s Submit the job"
                    + " again.",
                digest, e.getMessage()),
            e);
      default:
        return e;
    }
  }
}
