/** The store's three caches, their records, and transactions over the records. */
package io.tensorflowignite.storage.cache;
