/** What this node counts and measures, as OpenMetrics. */
package io.tensorflowignite.metrics;
