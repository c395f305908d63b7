/** Batches in memory of a reader on the same host. */
package io.tensorflowignite.data.shared;
