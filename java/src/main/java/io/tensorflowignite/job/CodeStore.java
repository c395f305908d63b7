package io.tensorflowignite.job;

import com.google.common.hash.Hashing;
import com.google.common.hash.HashingOutputStream;
import com.google.protobuf.Timestamp;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.ErrorCode;
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

/**
 * Code archives, as files under their digests: the same archive is stored once, and a torn upload
 * is never seen.
 */
public final class CodeStore {
  private static final int READS = 5;

  private final JobStore files;

  public CodeStore(JobStore files) {
    this.files = files;
  }

  public boolean contains(String digest) {
    return files.exists(JobFiles.code(digest));
  }

  /**
   * Where an archive's bytes go; it is there when they are published. One that is there already is
   * replaced: blocks of it may be lost, and it shall be young (see {@link Retention}).
   */
  public StorageOutput write(String digest) {
    return files.write(JobFiles.code(digest));
  }

  /** Writes the archive to a file, unless it is there already; checks the digest. */
  public void copyTo(String digest, Path file) throws IOException {
    if (Files.exists(file)) {
      return;
    }
    Path part = Files.createTempFile(file.getParent(), "code", ".part");
    try {
      String actual = read(digest, part);
      if (!actual.equals(digest)) {
        throw new TensorFlowIgniteException(
            ErrorCode.CODE_INVALID,
            "The code archive "
                + digest
                + " came out of the cluster as "
                + actual
                + ". Submit the job again.");
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  /** Removes the archives that no job needs. */
  void removeUnneeded(Retention retention, Collection<Job> jobs, Timestamp now) {
    Set<String> named =
        jobs.stream().map(job -> job.getSpec().getCodeDigest()).collect(Collectors.toSet());
    for (FileInfo file : files.list(JobFiles.CODE)) {
      String digest = JobFiles.digest(file.getPath());
      if (retention.isUnneeded(digest, file.getModifiedAt(), named, now)) {
        files.remove(JobFiles.code(digest));
      }
    }
  }

  /** The digest of what was read. */
  private String read(String digest, Path file) throws IOException {
    for (int reads = 1; ; reads++) {
      try (StorageInput archive = files.read(JobFiles.code(digest));
          HashingOutputStream hashing =
              new HashingOutputStream(
                  Hashing.sha256(), new BufferedOutputStream(Files.newOutputStream(file)))) {
        archive.transferTo(hashing);
        return hashing.hash().toString();
      } catch (TensorFlowIgniteException e) {
        // The same archive was uploaded once more.
        if (e.code() != ErrorCode.FILE_CHANGED || reads == READS) {
          throw told(digest, e);
        }
      }
    }
  }

  private static TensorFlowIgniteException told(String digest, TensorFlowIgniteException e) {
    switch (e.code()) {
      case FILE_NOT_FOUND:
      case FILE_CORRUPT:
        return new TensorFlowIgniteException(
            ErrorCode.CODE_NOT_FOUND,
            "The code archive "
                + digest
                + " is not in the cluster, or not whole: "
                + e.getMessage()
                + " Submit the job again.",
            e);
      default:
        return e;
    }
  }
}
