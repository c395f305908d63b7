package io.tensorflowignite.base;

import io.tensorflowignite.v1.NodeLoop;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/** The loops of one node. */
public final class Loops {
  private static final String KEY = "tensorflow-ignite-loops";

  private final IgniteLogger log;
  private final List<Loop> loops = new CopyOnWriteArrayList<>();

  public Loops(IgniteLogger log) {
    this.log = log.getLogger(Loops.class);
  }

  /** The loops of a node; a job's service, which Ignite deploys, gets nothing but the node. */
  public static Loops of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, Loops>nodeLocalMap()
        .computeIfAbsent(KEY, key -> new Loops(ignite.log()));
  }

  /**
   * A loop whose passes follow one another; it is silent after the limit without a sign of life.
   *
   * @param limit null: a pass may wait for any time
   */
  public Loop continuous(String name, Duration limit, BooleanSupplier closed) {
    return add(new Loop(name, limit, true, closed, log, System::nanoTime));
  }

  /** A loop whose passes are run on request; it is silent if a pass takes longer than the limit. */
  public Loop onRequest(String name, Duration limit, BooleanSupplier closed) {
    return add(new Loop(name, limit, false, closed, log, System::nanoTime));
  }

  /** The loops that have failed or are silent. */
  public List<NodeLoop> faults() {
    return loops.stream().map(Loop::fault).flatMap(Optional::stream).collect(Collectors.toList());
  }

  private Loop add(Loop loop) {
    loops.removeIf(Loop::isClosed);
    loops.add(loop);
    return loop;
  }
}
