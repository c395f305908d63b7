package io.tensorflowignite.table;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import com.google.common.hash.HashingOutputStream;
import com.google.common.primitives.Ints;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashSet;
import java.util.Set;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/**
 * Code archives, in chunks under their digest: the same archive is stored once, and a torn upload
 * is never seen.
 */
public final class CodeTable {
  private final IgniteCache<String, byte[]> cache;

  public CodeTable(Ignite ignite) {
    this.cache = SystemCache.CODE.open(ignite);
  }

  /** Whether the whole archive is there. */
  public boolean contains(String digest) {
    byte[] count = cache.get(digest);
    if (count == null) {
      return false;
    }
    Set<String> chunks = new HashSet<>();
    for (int i = 0; i < Ints.fromByteArray(count); i++) {
      chunks.add(chunkKey(digest, i));
    }
    return cache.containsKeys(chunks);
  }

  public void putChunk(String digest, int number, byte[] chunk) {
    cache.put(chunkKey(digest, number), chunk);
  }

  /** Makes an archive visible whose chunks have all been put. */
  public void complete(String digest, int chunks) {
    cache.put(digest, Ints.toByteArray(chunks));
  }

  public void removeChunks(String digest, int chunks) {
    for (int i = 0; i < chunks; i++) {
      cache.remove(chunkKey(digest, i));
    }
  }

  /** Writes the archive to a file, unless it is there already; checks the digest. */
  public void copyTo(String digest, Path file) throws IOException {
    if (Files.exists(file)) {
      return;
    }
    byte[] count = cache.get(digest);
    if (count == null) {
      throw new TensorFlowIgniteException(
          ErrorCode.CODE_NOT_FOUND,
          "The code archive "
              + digest
              + " is not in the cluster. Every node keeps a copy in memory; all of them are gone."
              + " Submit the job again.");
    }
    Path part = Files.createTempFile(file.getParent(), "code", ".part");
    try {
      HashCode actual = write(digest, Ints.fromByteArray(count), part);
      if (!actual.toString().equals(digest)) {
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

  private HashCode write(String digest, int chunks, Path file) throws IOException {
    try (HashingOutputStream hashing =
        new HashingOutputStream(Hashing.sha256(), buffered(Files.newOutputStream(file)))) {
      for (int i = 0; i < chunks; i++) {
        byte[] chunk = cache.get(chunkKey(digest, i));
        if (chunk == null) {
          throw new TensorFlowIgniteException(
              ErrorCode.CODE_NOT_FOUND,
              "Chunk "
                  + i
                  + " of "
                  + chunks
                  + " of the code archive "
                  + digest
                  + " is lost. Submit the job again.");
        }
        hashing.write(chunk);
      }
      hashing.flush();
      return hashing.hash();
    }
  }

  private static OutputStream buffered(OutputStream out) {
    return new BufferedOutputStream(out);
  }

  private static String chunkKey(String digest, int number) {
    return digest + "/" + number;
  }
}
