package io.tensorflowignite.region;

/**
 * The purpose of a write. A data region keeps a reserve free; a more important write may use more
 * of the reserve.
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
