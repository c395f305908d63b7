package io.tensorflowignite.simulation;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Which processes of tasks run now, anywhere: no node knows it. No two attempts of one job may have
 * processes at the same moment.
 */
final class ProcessBooks {
  private final Simulation simulation;

  /** By job: the attempt of each running process. */
  private final Map<String, List<String>> running = new LinkedHashMap<>();

  private String fault = "";

  ProcessBooks(Simulation simulation) {
    this.simulation = simulation;
  }

  /**
   * A process starts.
   *
   * @param attempt identifies the attempt on both sides of a cut, where numbers may be the same
   */
  void start(String job, String attempt, String node) {
    List<String> attempts = running.computeIfAbsent(job, key -> new ArrayList<>());
    for (String other : attempts) {
      if (!other.equals(attempt) && fault.isEmpty()) {
        fault =
            String.format(
                "two attempts of job %s at once, %.3f s after the begin: %s starts on %s while %s"
                    + " runs",
                job, simulation.millis() / 1000.0, attempt, node, other);
        simulation.log("FAULT %s", fault);
      }
    }
    attempts.add(attempt);
  }

  void end(String job, String attempt) {
    running.get(job).remove(attempt);
  }

  /** The number of processes of a job that run. */
  int running(String job) {
    return running.getOrDefault(job, List.of()).size();
  }

  /** The first moment with two attempts; empty: there was none. */
  String fault() {
    return fault;
  }
}
