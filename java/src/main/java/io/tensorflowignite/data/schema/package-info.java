/** What the columns of a cache are: the one table of types, and where a schema is learned from. */
package io.tensorflowignite.data.schema;
