/**
 * Jobs in plain values of Java, for callers of the Ignite service: each call is one of the node
 * API.
 */
package io.tensorflowignite.plain;
