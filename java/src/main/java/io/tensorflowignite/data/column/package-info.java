/**
 * Columns of a batch under construction: how values are laid out as Arrow prescribes. Knows no
 * cache.
 */
package io.tensorflowignite.data.column;
