/** Batches over Arrow Flight; the only package that uses it. */
package io.tensorflowignite.data.flight;
