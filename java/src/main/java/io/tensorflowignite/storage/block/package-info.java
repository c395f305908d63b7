/**
 * Blocks: how they lie in their cache, which node holds which, and how they travel to and from
 * clients. Knows nothing of paths.
 */
package io.tensorflowignite.storage.block;
