package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.ModelDeployment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.transactions.Transaction;

/** Which versions of each model the nodes serve: the desired state, by the name of the model. */
public final class DeploymentTable implements AutoCloseable {
  private final Rows rows;
  private final LocalCopy<Optional<ModelDeployment>> copy;

  /**
   * @param listener called after each change; it must not use caches
   */
  public DeploymentTable(Ignite ignite, Runnable listener) {
    this.rows = new Rows(ignite, SystemCache.DEPLOYMENTS);
    this.copy = new LocalCopy<>(rows, DeploymentTable::read, key -> listener.run());
  }

  /** Whether this node has all rows; after its join, a node receives them from other nodes. */
  public boolean isWhole() {
    return copy.isWhole();
  }

  /**
   * The row of a model, of this node's copy or of another node while that is not whole; empty:
   * there is none, or it is unreadable.
   */
  public Optional<ModelDeployment> get(String name) {
    return isWhole() ? copy.get(name).flatMap(row -> row) : read(name, rows.get(name));
  }

  /** All readable rows, in no order; of another node while this node's copy is not whole. */
  public List<ModelDeployment> all() {
    if (!isWhole()) {
      List<ModelDeployment> found = new ArrayList<>();
      rows.forEach((key, value) -> read(key, value).ifPresent(found::add));
      return found;
    }
    return copy.all().stream().flatMap(Optional::stream).collect(Collectors.toList());
  }

  /**
   * Changes the row of a model in a transaction.
   *
   * @param change gets the row, or an empty one; it may be called more than once
   * @return the new row
   */
  public ModelDeployment change(String name, UnaryOperator<ModelDeployment> change) {
    return Rows.repeated(
        () -> {
          try (Transaction transaction = rows.begin()) {
            ModelDeployment row =
                read(name, rows.get(name))
                    .orElse(ModelDeployment.newBuilder().setName(name).build());
            ModelDeployment next = change.apply(row);
            if (!next.equals(row)) {
              rows.put(Purpose.DECISION, name, next.toByteArray(), "a deployment");
            }
            transaction.commit();
            return next;
          }
        });
  }

  /** Returns whether there was a row. */
  public boolean remove(String name) {
    return rows.cache().remove(name);
  }

  /** Compares all rows at the next call, since partitions have moved. */
  public void compare() {
    copy.compare();
  }

  @Override
  public void close() {
    copy.close();
  }

  private static Optional<ModelDeployment> read(Object key, Object value) {
    return Rows.read(ModelDeployment.parser(), value, row -> row.getName().equals(key));
  }
}
