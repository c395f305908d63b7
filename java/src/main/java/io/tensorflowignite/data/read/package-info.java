/** Rows of partitions into batches: the partitions' owners, and when a batch is full. */
package io.tensorflowignite.data.read;
