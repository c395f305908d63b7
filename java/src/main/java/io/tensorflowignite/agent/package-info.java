/** The service's side of this node's agent: its process, its calls, and its tasks. */
package io.tensorflowignite.agent;
