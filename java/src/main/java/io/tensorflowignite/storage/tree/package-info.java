/** The tree of directories and files: paths, changes, and the garbage that changes make. */
package io.tensorflowignite.storage.tree;
