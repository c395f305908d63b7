/** Record batches into a cache: creates the cache, and writes its rows. */
package io.tensorflowignite.data.load;
