package io.tensorflowignite.data.change;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.v1.KeyRange;
import io.tensorflowignite.v1.ReadCommand;
import java.util.function.ToLongFunction;

/** Which rows a command reads, by hashes of their keys alone. */
public final class KeySelection {
  private static final int BITS = 32;

  private static final long HASHES = 1L << BITS;

  private final ToLongFunction<Object> hash;
  private final ReadCommand command;

  private KeySelection(ToLongFunction<Object> hash, ReadCommand command) {
    this.hash = hash;
    this.command = command;
  }

  /**
   * The selection of a command.
   *
   * @param isQuery whether a condition or SELECT chooses the rows
   * @param hash returns 64 bits of a hash: the upper half for ranges of keys, the lower half for
   *     samples
   */
  public static KeySelection of(ReadCommand command, boolean isQuery, ToLongFunction<Object> hash) {
    String problem = null;
    KeyRange keys = command.getKeys();
    double share = command.getReplay().getShare();
    if (isQuery && (command.hasKeys() || command.hasReplay())) {
      problem =
          "with a condition or SELECT; rows are chosen by their keys, which a query does not"
              + " return; read all rows, and choose among them";
    } else if (command.hasKeys()
        && (keys.getBegin() < 0 || keys.getBegin() >= keys.getEnd() || keys.getEnd() > HASHES)) {
      problem =
          String.format(
              "by hashes of keys from %d to %d; a range has at least one hash, from 0 to %d;"
                  + " choose a range within these",
              keys.getBegin(), keys.getEnd(), HASHES);
    } else if (command.hasReplay() && !(share > 0 && share < 1)) {
      problem =
          String.format(
              "with a share of %s of rows that have not changed; the share is above 0 and below"
                  + " 1; choose a share between these",
              share);
    }
    if (problem != null) {
      throw invalidRequest("rows of cache %s cannot be read %s", command.getCache(), problem);
    }
    return new KeySelection(hash, command);
  }

  /** Whether the command reads the row of a key. */
  public boolean has(Object key) {
    if (!command.hasKeys()) {
      return true;
    }
    long value = hash.applyAsLong(key) >>> BITS;
    KeyRange range = command.getKeys();
    return range.getBegin() <= value && value < range.getEnd();
  }

  /** Whether the row of a key is in a sample of this part of all rows. */
  boolean isSampled(Object key, double part) {
    long distance = (hash.applyAsLong(key) - command.getReplay().getBegin()) & (HASHES - 1);
    return distance < part * HASHES;
  }

  /**
   * The part of the unchanged rows to read, so that they are the requested share of all rows read.
   *
   * @param changed the number of rows of changed keys that the command reads
   * @param rows the number of all rows of the same partitions
   */
  double sampledPart(long changed, long rows) {
    double share = command.getReplay().getShare();
    if (share == 0 || changed == 0) {
      return 0;
    }
    double selected =
        command.hasKeys()
            ? (double) (command.getKeys().getEnd() - command.getKeys().getBegin()) / HASHES
            : 1;
    double others = Math.max(1, rows * selected - changed);
    return Math.min(1, share / (1 - share) * changed / others);
  }
}
