package io.tensorflowignite.ignite;

import java.util.Comparator;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.transactions.IgniteInternalTx;

/** A transaction that this node takes part in, of any node. */
public final class OpenTransaction {
  /** The node that began it. */
  public final UUID nodeId;

  /** Milliseconds since 1970. */
  public final long startTime;

  private OpenTransaction(IgniteInternalTx transaction) {
    this.nodeId = transaction.originatingNodeId();
    this.startTime = transaction.startTime();
  }

  /**
   * The transaction that has been open for the longest time.
   *
   * @param latest only transactions that began until then; milliseconds since 1970
   */
  public static Optional<OpenTransaction> oldest(Ignite ignite, long latest) {
    return ((IgniteEx) ignite)
        .context().cache().context().tm().activeTransactions().stream()
            .filter(transaction -> transaction.startTime() <= latest)
            .min(Comparator.comparingLong(IgniteInternalTx::startTime))
            .map(OpenTransaction::new);
  }
}
