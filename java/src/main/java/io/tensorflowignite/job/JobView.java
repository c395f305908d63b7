package io.tensorflowignite.job;

/** The calls of other nodes about the jobs that a node serves. */
public interface JobView {
  /**
   * The jobs as their services observe them now, with the progress of their tasks.
   *
   * @param jobIds ids of jobs
   * @param summaries whether summaries are enough
   * @return for each id a job as bytes; null: this node does not serve it
   */
  byte[][] observe(String[] jobIds, boolean summaries);
}
