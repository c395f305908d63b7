/**
 * The HTTP port of a node: TensorFlow Serving's REST API and metrics, as calls to the node's
 * services.
 */
package io.tensorflowignite.http;
