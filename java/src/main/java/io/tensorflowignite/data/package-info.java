/**
 * Rows between Ignite's caches and Arrow record batches.
 *
 * <p>Reading: {@code Schemas} learns a cache's columns, {@code PartitionReader} scans partitions,
 * {@code BatchWriter} lays the rows out as Arrow columns, a {@code BatchCarrier} takes the batches
 * away. Loading: {@code CacheLoader} makes the cache and writes the rows of record batches into it.
 * {@code FlightCarrier} sends them over the node's port, {@code TcpCarrier} over a connection of
 * their own; {@code SegmentCarrier} lays them into memory of a reader on this host, where the
 * columns were written in the first place ({@code SegmentMemory}). {@code ColumnTypes} is the one
 * table of types for both ways. Only {@code DataEndpoint}, {@code DataProducer} and the classes
 * named Flight know Arrow Flight.
 */
package io.tensorflowignite.data;
