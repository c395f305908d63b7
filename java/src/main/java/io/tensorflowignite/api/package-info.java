/** What is reachable from outside: the only io.grpc server, the node API, and how errors travel. */
package io.tensorflowignite.api;
