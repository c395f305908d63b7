/** Batches over separate TCP connections, as tcp.proto describes. */
package io.tensorflowignite.data.tcp;
