/** Pending extents, which belong to no file: writers fill them, or the sweeper removes them. */
package io.tensorflowignite.storage.pending;
