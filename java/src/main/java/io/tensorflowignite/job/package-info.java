/**
 * Carries out the decisions of {@code job.decide} in the cluster: {@code JobService} for one job,
 * {@code Reconciler} for all jobs. Stores code and output of jobs as files.
 */
package io.tensorflowignite.job;
