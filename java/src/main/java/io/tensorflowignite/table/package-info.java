/**
 * The system caches: what the cluster remembers of jobs, nodes, output and code. Values are
 * serialized protobuf messages, so that a node without our jar can hold them too.
 */
package io.tensorflowignite.table;
