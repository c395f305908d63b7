package io.tensorflowignite.settings;

import java.io.Serializable;

/** Limits of a node's memory for record batches, in bytes. */
public final class BatchLimits implements Serializable {
  public static final BatchLimits DEFAULT = new BatchLimits(256L << 20, 4L << 30);

  private static final long serialVersionUID = 1L;
  private static final int INCOMPLETE = 4;

  /** The largest batch that is accepted. */
  public final long batch;

  /** All batches together that are being read or loaded. */
  public final long total;

  public BatchLimits(long batch, long total) {
    this.batch = batch;
    this.total = total;
  }

  /** All requests together that have arrived in part. */
  public long incomplete() {
    return INCOMPLETE * batch;
  }
}
