/**
 * Extents that are not, or no longer, of a file: what writers are at, and what is to be removed.
 */
package io.tensorflowignite.storage.pending;
