/** Batches over the network; the only place that knows Arrow Flight. */
package io.tensorflowignite.data.flight;
