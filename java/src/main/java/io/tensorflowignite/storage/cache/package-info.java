/** The store's two caches, the records in them, and how records are changed together. */
package io.tensorflowignite.storage.cache;
