package io.tensorflowignite;

import java.io.Serializable;

/** How much memory a node gives to record batches, in bytes. */
public final class BatchLimits implements Serializable {
  /** When nothing is configured. */
  public static final BatchLimits DEFAULT = new BatchLimits(256L << 20, 4L << 30);

  private static final long serialVersionUID = 1L;
  private static final int INCOMPLETE = 4;

  private final long batch;
  private final long together;

  public BatchLimits(long batch, long together) {
    this.batch = batch;
    this.together = together;
  }

  /** The largest batch that is taken. */
  public long batch() {
    return batch;
  }

  /** All batches that are being read or loaded at once. */
  public long together() {
    return together;
  }

  /** All requests that have arrived in part. */
  public long incomplete() {
    return INCOMPLETE * batch;
  }
}
