/** The parts of the service on one node, and the settings of that node. */
package io.tensorflowignite.node;
