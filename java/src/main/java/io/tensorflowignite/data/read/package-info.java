/** Rows of partitions into batches: which rows, who owns them, and when a batch is full. */
package io.tensorflowignite.data.read;
