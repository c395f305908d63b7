package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.MILLISECOND;
import static io.tensorflowignite.PropertyRules.duration;
import static io.tensorflowignite.PropertyRules.invalid;
import static io.tensorflowignite.PropertyRules.seconds;
import static io.tensorflowignite.PropertyRules.within;

import io.tensorflowignite.settings.StorageSettings;
import java.io.Serializable;

/** The files of the cluster: {@code storage} of {@link TensorFlowService}. */
public final class StorageConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int KILOBYTE = 1 << 10;
  private static final int MIN_BLOCK_KILOBYTES = 4;
  private static final int MAX_BLOCK_KILOBYTES = 4096;

  private String name = TensorFlowService.NAME;
  private int backups = 1;
  private String dataRegion;
  private int blockKilobytes = 2048;
  private double writerTimeoutSeconds = 120;

  /** The prefix of the three caches of files: NAME-files, NAME-blocks and NAME-small. */
  public StorageConfiguration setName(String name) {
    if (name == null || name.isEmpty()) {
      throw invalid("storage.name", "'" + name + "'", "It must not be empty");
    }
    this.name = name;
    return this;
  }

  /** Copies of each block of a file besides the primary one; with 0, a lost node loses files. */
  public StorageConfiguration setBackups(int backups) {
    this.backups = (int) within("storage.backups", backups, 0, "", Integer.MAX_VALUE);
    return this;
  }

  /**
   * The data region of the caches of files, on every server node; null: as for the other caches of
   * the service, tensorflow-ignite where every server node has it, or else the default region.
   */
  public StorageConfiguration setDataRegion(String region) {
    dataRegion = region;
    return this;
  }

  /** The default size of a file's blocks, in KiB: 4 to 4,096. */
  public StorageConfiguration setBlockKilobytes(int kilobytes) {
    blockKilobytes =
        (int)
            within(
                "storage.blockKilobytes", kilobytes, MIN_BLOCK_KILOBYTES, "", MAX_BLOCK_KILOBYTES);
    return this;
  }

  /**
   * Seconds without a sign of life after which a writer is abandoned and its blocks are removed.
   */
  public StorageConfiguration setWriterTimeoutSeconds(double seconds) {
    writerTimeoutSeconds = seconds("storage.writerTimeoutSeconds", seconds, MILLISECOND, "");
    return this;
  }

  StorageSettings settings() {
    return new StorageSettings(
        name, backups, dataRegion, blockKilobytes * KILOBYTE, duration(writerTimeoutSeconds));
  }
}
