/** The gRPC services of a node; {@code DataEndpoint} makes those that read and load rows. */
package io.tensorflowignite.api;
