/** Record batches into a cache: how it is made, and how its rows are written. */
package io.tensorflowignite.data.load;
