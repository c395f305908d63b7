/**
 * Blocks: their layout in the cache, their owners, and their transfer to and from clients. No class
 * here knows paths.
 */
package io.tensorflowignite.storage.block;
