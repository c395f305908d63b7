/**
 * The agent of this node, from its service's side: its process, its calls, and what of the job
 * table it must run.
 */
package io.tensorflowignite.agent;
