package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.MEGABYTE;
import static io.tensorflowignite.PropertyRules.invalid;
import static io.tensorflowignite.PropertyRules.within;

import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.settings.ReadRate;
import java.io.Serializable;

/** Reading and loading of rows: {@code rows} of {@link TensorFlowService}. */
public final class RowConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int MAX_BATCH_MEGABYTES = 2047;

  private int maxBatchMegabytes = (int) (BatchLimits.DEFAULT.batch / MEGABYTE);
  private int batchMemoryMegabytes = (int) (BatchLimits.DEFAULT.total / MEGABYTE);
  private ReadRate readRate = ReadRate.ADAPTIVE;

  /** The largest record batch of a load that a node accepts, in MiB: 1 to 2,047. */
  public RowConfiguration setMaxBatchMegabytes(int megabytes) {
    maxBatchMegabytes =
        (int) within("rows.maxBatchMegabytes", megabytes, 1, "", MAX_BATCH_MEGABYTES);
    return this;
  }

  /** Memory of a node for all record batches that are being read or loaded, in MiB. */
  public RowConfiguration setBatchMemoryMegabytes(int megabytes) {
    batchMemoryMegabytes =
        (int) within("rows.batchMemoryMegabytes", megabytes, 1, "", Integer.MAX_VALUE);
    return this;
  }

  /**
   * How fast each node reads rows for its streams: "adaptive" (the default): as fast as possible,
   * but the application's gets, puts and queries on the node go first; "unlimited"; or the most of
   * all streams of a node together, "200MB" or "50000rows" in a second, which yield as well.
   */
  public RowConfiguration setReadRate(String rate) {
    if ("adaptive".equals(rate)) {
      readRate = ReadRate.ADAPTIVE;
    } else if ("unlimited".equals(rate)) {
      readRate = ReadRate.UNLIMITED;
    } else {
      readRate =
          ReadRate.parse(rate)
              .orElseThrow(
                  () ->
                      invalid(
                          "rows.readRate",
                          "'" + rate + "'",
                          "It must be adaptive, unlimited, " + ReadRate.RULE));
    }
    return this;
  }

  BatchLimits batches() {
    return new BatchLimits(maxBatchMegabytes * MEGABYTE, batchMemoryMegabytes * MEGABYTE);
  }

  ReadRate readRate() {
    return readRate;
  }
}
