/**
 * A validated command to read, its rows as a stream of batches, and the errors of all transports.
 */
package io.tensorflowignite.data.stream;
