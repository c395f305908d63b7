/**
 * TLS of a node's one server: whose certificate it shows, how that is changed while the node runs,
 * and which certificate a caller has shown. Knows JSSE, Netty's and gRPC's side of it.
 */
package io.tensorflowignite.security.tls;
