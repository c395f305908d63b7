/**
 * TLS of a node's server: the node's certificate, its replacement while the node runs, and the
 * certificates of callers. Uses JSSE, Netty and gRPC.
 */
package io.tensorflowignite.security.tls;
