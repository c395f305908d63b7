package io.tensorflowignite.data.load;

/** Stores the rows of chunks. Safe to use from several threads. */
interface ChunkWriter {
  /**
   * Stores rows, at once or later.
   *
   * @param memory gets a call when rows are on their way, and another one when they are stored
   */
  void write(RowChunk chunk, PendingRows memory);

  /** Returns when every row is stored. */
  void flush();
}
