/** Batches in memory that a reader on the same host made. */
package io.tensorflowignite.data.shared;
