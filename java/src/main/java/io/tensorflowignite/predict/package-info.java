/**
 * Online prediction on a node: its model processes follow the table of deployments, batches go to
 * them, and requests to the nodes that serve a model.
 */
package io.tensorflowignite.predict;
