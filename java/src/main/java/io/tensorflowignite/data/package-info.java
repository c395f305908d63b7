/**
 * Rows between Ignite's caches and Arrow record batches.
 *
 * <p>Reading: {@code SchemaResolver} finds a cache's columns, {@code PartitionReader} scans
 * partitions, {@code BatchWriter} lays the rows out as Arrow columns, and a {@code BatchSink} sends
 * the batches: {@code FlightBatchSink} over the node's port, {@code TcpBatchSink} over a separate
 * connection, {@code SegmentBatchSink} in memory of a reader on this host, into which the columns
 * are written directly ({@code SegmentArena}). Loading: {@code CacheLoader} creates the cache and
 * writes the rows of record batches into it. {@code ColumnTypes} is the table of types for reading
 * and loading.
 */
package io.tensorflowignite.data;
