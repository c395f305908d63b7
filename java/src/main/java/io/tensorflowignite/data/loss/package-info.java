/** Partitions of caches that have lost all their copies: found, remembered, accepted. */
package io.tensorflowignite.data.loss;
