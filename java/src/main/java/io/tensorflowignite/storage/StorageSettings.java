package io.tensorflowignite.storage;

import java.io.Serializable;
import java.time.Duration;

/** What the store of files is like, the same on every node. */
public final class StorageSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String name;
  private final int backups;
  private final String dataRegion;
  private final int blockBytes;
  private final Duration writerTimeout;

  /** A data region of null is Ignite's default one. */
  public StorageSettings(
      String name, int backups, String dataRegion, int blockBytes, Duration writerTimeout) {
    this.name = name;
    this.backups = backups;
    this.dataRegion = dataRegion;
    this.blockBytes = blockBytes;
    this.writerTimeout = writerTimeout;
  }

  /** Its caches are called by this name with -files and -blocks behind it. */
  public String name() {
    return name;
  }

  /** Copies of each block besides the first. */
  public int backups() {
    return backups;
  }

  /** Where both caches live; null: in the default data region. */
  public String dataRegion() {
    return dataRegion;
  }

  /** The size of a block, unless its writer says otherwise. */
  public int blockBytes() {
    return blockBytes;
  }

  /** Without a sign of life for so long a writer is dead. */
  public Duration writerTimeout() {
    return writerTimeout;
  }
}
