/** The tree of directories and files: its paths, its changes, and what they make garbage. */
package io.tensorflowignite.storage.tree;
