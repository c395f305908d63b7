/** Distributed TensorFlow training inside an Apache Ignite cluster: the bean of its service. */
package io.tensorflowignite;
