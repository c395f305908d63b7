/**
 * The file service: files inside the cluster, over two caches, one of metadata and one of blocks.
 */
package io.tensorflowignite.storage;
