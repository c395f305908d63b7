package io.tensorflowignite.simulation;

import io.tensorflowignite.table.JobHistory;
import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A cluster as Ignite sees it: its nodes, and the rows of the job table, which are the same on all
 * of them. The two sides of a cut network are two of them, each with all rows.
 */
final class SimulatedCell {
  private final Simulation simulation;
  private final SimulatedCluster cluster;
  final List<SimulatedNode> members = new ArrayList<>();
  private final Map<String, Job> rows = new LinkedHashMap<>();
  private long version;

  SimulatedCell(Simulation simulation, SimulatedCluster cluster) {
    this.simulation = simulation;
    this.cluster = cluster;
  }

  /** A side of a cut network: it does not know yet that the others are not connected. */
  SimulatedCell copy() {
    SimulatedCell copy = new SimulatedCell(simulation, cluster);
    copy.members.addAll(members);
    copy.rows.putAll(rows);
    copy.version = version;
    return copy;
  }

  /** The members that are on this side of a cut. */
  List<SimulatedNode> here() {
    return members.stream().filter(member -> member.cell == this).collect(Collectors.toList());
  }

  Map<String, Job> rows() {
    return rows;
  }

  Job row(String job) {
    return rows.get(job);
  }

  /**
   * Whether no transaction of a node ends now: it waits for all members, until those that do not
   * answer have left.
   */
  boolean isBlocked(SimulatedNode writer) {
    return !members.contains(writer)
        || Stream.concat(members.stream(), writer.view.values().stream())
            .anyMatch(
                member -> !member.isAlive() || member.isFrozen() || cluster.isCut(writer, member));
  }

  /** Changes a row in a transaction, which the writer could do; see {@link #isBlocked}. */
  Job update(String id, UnaryOperator<Job> change) {
    Job before = rows.get(id);
    if (before == null) {
      return null;
    }
    Job after = JobHistory.withNewestAttempt(change.apply(before));
    if (!after.equals(before)) {
      put(id, after);
    }
    return after;
  }

  void put(String id, Job row) {
    version++;
    long number = version;
    if (row == null) {
      rows.remove(id);
    } else {
      rows.put(id, row);
    }
    for (SimulatedNode member : here()) {
      member.after(simulation.between(0, 30), () -> member.put(id, row, number));
    }
  }

  void join(SimulatedNode joined) {
    members.add(joined);
    joined.cell = this;
    rows.forEach((id, row) -> joined.put(id, row, version));
    for (SimulatedNode member : here()) {
      joined.see(member);
      member.after(
          simulation.between(0, 500),
          () -> {
            if (members.contains(joined)) {
              member.see(joined);
            }
          });
    }
  }

  /** A node has left: the others notice it within a moment. */
  void remove(SimulatedNode left, boolean inOrder) {
    if (!members.remove(left)) {
      return;
    }
    simulation.log("%s has left the cluster of %s", left.id(), members.size());
    for (SimulatedNode member : here()) {
      member.after(simulation.between(0, 700), () -> member.forget(left, inOrder));
    }
    if (left.cell == this) {
      left.cell = null;
    }
  }
}
