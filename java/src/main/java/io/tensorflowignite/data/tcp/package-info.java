/**
 * Batches over TCP connections of their own, as proto tcp.proto says. {@code TcpRowsService} knows
 * gRPC, {@code TcpPort} sockets.
 */
package io.tensorflowignite.data.tcp;
