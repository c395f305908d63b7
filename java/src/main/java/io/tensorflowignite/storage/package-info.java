/**
 * Files inside the cluster: one cache of metadata, one of blocks, one of the blocks of small files.
 */
package io.tensorflowignite.storage;
