/** Columns of a batch under construction, in Arrow's layout. Knows no cache. */
package io.tensorflowignite.data.column;
