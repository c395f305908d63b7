/**
 * The system caches: jobs, reports, nodes, the output of running tasks, and losses. Values are
 * serialized protobuf messages, so that nodes without our jar can store them too.
 */
package io.tensorflowignite.table;
