package io.tensorflowignite.region;

/**
 * What a write is for. A data region keeps a reserve free; the more important a write is, the more
 * of the reserve it may use.
 */
public enum Purpose {
  /** Rows, blocks of files, output: uses nothing of the reserve. */
  DATA("data", 1),

  /** New jobs, files, directories and schemas: use half of the reserve. */
  ENTRY("new entries", 2),

  /** Changes of jobs, reports and rows of nodes: use three quarters of the reserve. */
  DECISION("changes of state", 4);

  final String plural;
  final int reserveDivisor;

  Purpose(String plural, int reserveDivisor) {
    this.plural = plural;
    this.reserveDivisor = reserveDivisor;
  }
}
