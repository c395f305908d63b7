package io.tensorflowignite.settings;

import java.io.Serializable;
import java.time.Duration;

/** The settings of the cluster's files, the same on every node. */
public final class StorageSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The three caches are named NAME-files, NAME-blocks and NAME-small. */
  public final String name;

  /** Copies of each block besides the primary one. */
  public final int backups;

  /**
   * The data region of the caches; null: the own region where all nodes have it, or the default.
   */
  public final String dataRegion;

  /** The default size of a block, in bytes. */
  public final int blockBytes;

  /** After this time without a sign of life, a writer is abandoned. */
  public final Duration writerTimeout;

  public StorageSettings(
      String name, int backups, String dataRegion, int blockBytes, Duration writerTimeout) {
    this.name = name;
    this.backups = backups;
    this.dataRegion = dataRegion;
    this.blockBytes = blockBytes;
    this.writerTimeout = writerTimeout;
  }
}
