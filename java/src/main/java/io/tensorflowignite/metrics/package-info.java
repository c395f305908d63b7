/** What this node counts and measures, as OpenMetrics and in Ignite's own registries. */
package io.tensorflowignite.metrics;
