/** The changes of a cache since a read of it: the changed keys, which their owners note. */
package io.tensorflowignite.data.change;
