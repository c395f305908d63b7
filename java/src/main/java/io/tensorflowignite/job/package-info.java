/**
 * A job's life. {@code JobMachine}, {@code JobObserver} and {@code Placement} are pure: no Ignite,
 * no gRPC, no clock, no thread. {@code JobService}, {@code Assignments} and {@code Reconciler}
 * carry their decisions out in the cluster.
 */
package io.tensorflowignite.job;
