/** Distributed TensorFlow training inside an Apache Ignite cluster. */
package io.tensorflowignite;
