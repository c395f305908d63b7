/**
 * The system caches: jobs, reports, nodes, the output of running tasks, and losses. Keys are
 * strings and values are serialized protobuf messages in byte arrays, so that nodes without our jar
 * can store them too.
 */
package io.tensorflowignite.table;
