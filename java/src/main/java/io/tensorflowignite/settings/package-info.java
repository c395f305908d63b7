/** The configuration of the cluster, as plain values that travel between nodes. */
package io.tensorflowignite.settings;
