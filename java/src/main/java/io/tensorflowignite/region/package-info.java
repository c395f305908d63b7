/**
 * The data regions of all nodes: how much of them is in use, and which writes still fit. Everything
 * that this project puts into Ignite's memory is requested here first.
 */
package io.tensorflowignite.region;
