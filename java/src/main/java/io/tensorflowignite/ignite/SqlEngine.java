package io.tensorflowignite.ignite;

import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.query.GridQueryProcessor;
import org.apache.ignite.internal.processors.query.h2.IgniteH2Indexing;

/** The H2 database of one node, in which Ignite executes the node's part of each query. */
public final class SqlEngine {
  private SqlEngine() {}

  /** Whether this node has Ignite's module for SQL. */
  public static boolean isHere(Ignite ignite) {
    return queries(ignite).moduleEnabled();
  }

  /** Executes a statement in the H2 of this node alone, past Ignite's own SQL. */
  public static void execute(Ignite ignite, String schema, String statement)
      throws IgniteCheckedException {
    IgniteH2Indexing engine = (IgniteH2Indexing) queries(ignite).getIndexing();
    engine.connections().executeStatement(schema, statement);
  }

  private static GridQueryProcessor queries(Ignite ignite) {
    return ((IgniteEx) ignite).context().query();
  }
}
