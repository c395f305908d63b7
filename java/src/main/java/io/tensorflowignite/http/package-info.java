/**
 * The HTTP port of a node: TensorFlow Serving's REST API, metrics and the page, as calls to the
 * node's services.
 */
package io.tensorflowignite.http;
