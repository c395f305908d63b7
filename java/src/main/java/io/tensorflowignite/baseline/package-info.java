/** The baseline of a cluster: the nodes to which Ignite assigns partitions. */
package io.tensorflowignite.baseline;
