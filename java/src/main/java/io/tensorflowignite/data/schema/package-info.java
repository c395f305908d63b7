/** The columns of a cache: the table of types, and the sources of a schema. */
package io.tensorflowignite.data.schema;
