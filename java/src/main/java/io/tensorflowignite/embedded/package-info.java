/**
 * An Ignite node inside a process that is not Java's own: the one package that the Python side
 * talks to.
 */
package io.tensorflowignite.embedded;
